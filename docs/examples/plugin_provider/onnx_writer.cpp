#include "onnx_writer.h"

#include <set>

#include "graph.h"
#include "protobuf.h"

// Numbers of fields are those of onnx.proto; each is named where it is used.

namespace teaching {
namespace {

/// ONNX's number of an element type. The interface's are the same but for the newest.
int64_t OnnxNumber(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0: return 24;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2: return 25;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2: return 26;
    default: return type;
  }
}

Message Tensor(const TensorView& view, const std::string& name) {
  Message tensor;
  for (const int64_t size : view.shape) tensor.Int(1, size);  // dims
  tensor.Int(2, OnnxNumber(view.element));                    // data_type
  tensor.Text(8, name);                                       // name
  tensor.Bytes(9, view.data, view.bytes);                     // raw_data
  return tensor;
}

Message ValueInfo(const std::string& name, const TensorType& type) {
  Message tensor;
  tensor.Int(1, OnnxNumber(type.element));  // elem_type
  if (type.has_shape) {
    Message shape;
    for (const Dimension& dimension : type.shape) {
      Message written;  // stays empty where nothing is known
      if (dimension.size >= 0) {
        written.Int(1, dimension.size);  // dim_value
      } else if (!dimension.symbol.empty()) {
        written.Text(2, dimension.symbol);  // dim_param
      }
      shape.Nested(1, written);  // dim
    }
    tensor.Nested(2, shape);  // shape
  }
  Message any;
  any.Nested(1, tensor);  // tensor_type
  Message value;
  value.Text(1, name);   // name
  value.Nested(2, any);  // type
  return value;
}

OrtOpAttrType TypeOf(const Api& api, const OrtOpAttr& attribute) {
  OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;
  api.Check(api->OpAttr_GetType(&attribute, &type));
  return type;
}

/// What an attribute holds, as an array. The first call is to fail, as it has no room: it says how much is needed.
template <class Item>
std::vector<Item> Read(const Api& api, const OrtOpAttr& attribute, OrtOpAttrType type) {
  size_t bytes = 0;
  const Owned<OrtStatus> no_room(api->ReadOpAttr(&attribute, type, nullptr, 0, &bytes), api->ReleaseStatus);
  std::vector<Item> items(bytes / sizeof(Item));
  if (!items.empty()) api.Check(api->ReadOpAttr(&attribute, type, items.data(), bytes, &bytes));
  return items;
}

/// Texts of a list come one after another, a zero behind each; a single one comes without.
std::vector<std::string> ReadTexts(const Api& api, const OrtOpAttr& attribute, OrtOpAttrType type) {
  std::vector<char> joined = Read<char>(api, attribute, type);
  joined.push_back('\0');
  std::vector<std::string> texts;
  for (const char* text = joined.data(); text + 1 < joined.data() + joined.size(); text += texts.back().size() + 1)
    texts.emplace_back(text);
  return texts;
}

Message Attribute(const Api& api, const OrtOpAttr& attribute) {
  // AttributeProto's numbers of types, which the field `type` holds.
  enum { kFloat = 1, kInt = 2, kString = 3, kTensor = 4, kFloats = 6, kInts = 7, kStrings = 8 };
  const char* name = nullptr;
  api.Check(api->OpAttr_GetName(&attribute, &name));
  Message written;
  written.Text(1, name);  // name
  const OrtOpAttrType type = TypeOf(api, attribute);
  switch (type) {
    case ORT_OP_ATTR_FLOAT: {
      written.Float(2, Read<float>(api, attribute, type).at(0));  // f
      written.Int(20, kFloat);                                    // type
      break;
    }
    case ORT_OP_ATTR_INT: {
      written.Int(3, Read<int64_t>(api, attribute, type).at(0));  // i
      written.Int(20, kInt);
      break;
    }
    case ORT_OP_ATTR_STRING: {
      const std::vector<std::string> texts = ReadTexts(api, attribute, type);
      written.Text(4, texts.empty() ? "" : texts.front());  // s
      written.Int(20, kString);
      break;
    }
    case ORT_OP_ATTR_TENSOR: {
      OrtValue* value = nullptr;
      api.Check(api->OpAttr_GetTensorAttributeAsOrtValue(&attribute, &value));
      const Owned<OrtValue> keeps_value(value, api->ReleaseValue);
      written.Nested(5, Tensor(ViewOf(api, *value), ""));  // t
      written.Int(20, kTensor);
      break;
    }
    case ORT_OP_ATTR_FLOATS: {
      for (const float item : Read<float>(api, attribute, type)) written.Float(7, item);  // floats
      written.Int(20, kFloats);
      break;
    }
    case ORT_OP_ATTR_INTS: {
      for (const int64_t item : Read<int64_t>(api, attribute, type)) written.Int(8, item);  // ints
      written.Int(20, kInts);
      break;
    }
    case ORT_OP_ATTR_STRINGS: {
      for (const std::string& text : ReadTexts(api, attribute, type)) written.Text(9, text);  // strings
      written.Int(20, kStrings);
      break;
    }
    default: throw Error(ORT_NOT_IMPLEMENTED, std::string("attribute '") + name + "' has a type that is not written");
  }
  return written;
}

Message Node(const Api& api, const OrtNode& node) {
  Message written;
  for (const OrtValueInfo* input : InputsOf(api, node)) written.Text(1, NameOf(api, input));     // input
  for (const OrtValueInfo* output : OutputsOf(api, node)) written.Text(2, NameOf(api, output));  // output
  const char* name = nullptr;
  api.Check(api->Node_GetName(&node, &name));
  written.Text(3, name);                                                                                     // name
  written.Text(4, OperatorOf(api, node));                                                                    // op_type
  for (const OrtOpAttr* attribute : AttributesOf(api, node)) written.Nested(5, Attribute(api, *attribute));  // attribute
  return written;  // without a domain it is an operator of ONNX's own
}

/// The constant behind a value; null: it has none, or one that an input of the model's may replace.
const OrtValue* ConstantOf(const Api& api, const OrtValueInfo& value) {
  bool is_constant = false;
  api.Check(api->ValueInfo_IsConstantInitializer(&value, &is_constant));
  const OrtValue* constant = nullptr;
  if (is_constant) api.Check(api->ValueInfo_GetInitializerValue(&value, &constant));
  return constant;
}

/// Which version of ONNX's own operators the graph's nodes are of.
int64_t VersionOf(const Api& api, const OrtGraph& graph) {
  size_t count = 0;
  api.Check(api->Graph_GetNumOperatorSets(&graph, &count));
  std::vector<const char*> domains(count);
  std::vector<int64_t> versions(count);
  api.Check(api->Graph_GetOperatorSets(&graph, domains.data(), versions.data(), count));
  for (size_t i = 0; i < count; ++i) {
    if (*domains[i] == '\0') return versions[i];
  }
  throw Error(ORT_INVALID_GRAPH, "the graph imports no version of ONNX's operators");
}

}  // namespace

bool IsWritable(ONNXTensorElementDataType type) {
  return type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED && type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
}

bool IsWritable(const Api& api, const OrtOpAttr& attribute) {
  const OrtOpAttrType type = TypeOf(api, attribute);
  if (type != ORT_OP_ATTR_TENSOR) return type != ORT_OP_ATTR_UNDEFINED && type != ORT_OP_ATTR_GRAPH;
  OrtValue* value = nullptr;
  api.Check(api->OpAttr_GetTensorAttributeAsOrtValue(&attribute, &value));
  const Owned<OrtValue> keeps_value(value, api->ReleaseValue);
  return IsWritable(ViewOf(api, *value).element);
}

std::string WriteOnnx(const Api& api, const OrtGraph& graph, const OrtNode& fused_node) {
  Message written;
  std::set<std::string> known;  // values that the model has already
  for (const OrtNode* node : NodesOf(api, graph)) {
    written.Nested(1, Node(api, *node));  // node
    for (const OrtValueInfo* output : OutputsOf(api, *node)) known.insert(NameOf(api, output));
  }
  written.Text(2, "group");  // name
  for (const OrtValueInfo* input : InputsOf(api, fused_node)) {
    written.Nested(11, ValueInfo(NameOf(api, input), TensorTypeOf(api, *input)));  // input
    known.insert(NameOf(api, input));
  }
  for (const OrtValueInfo* output : OutputsOf(api, fused_node))
    written.Nested(12, ValueInfo(NameOf(api, output), TensorTypeOf(api, *output)));  // output
  // What nodes read and nothing has given so far is constant. A model of gigabytes had better not be copied: a real engine
  // takes the address from ViewOf, which stays valid until the session ends.
  for (const OrtNode* node : NodesOf(api, graph)) {
    for (const OrtValueInfo* input : InputsOf(api, *node)) {
      const std::string name = NameOf(api, input);
      if (name.empty() || known.count(name) > 0) continue;
      const OrtValue* constant = ConstantOf(api, *input);
      if (constant == nullptr) throw Error(ORT_INVALID_GRAPH, "nothing gives a value to '" + name + "'");
      written.Nested(5, Tensor(ViewOf(api, *constant), name));  // initializer
      known.insert(name);
    }
  }

  int64_t format = 0;
  api.Check(api->Graph_GetOnnxIRVersion(&graph, &format));
  Message operators;
  operators.Int(2, VersionOf(api, graph));  // version
  Message model;
  model.Int(1, format);        // ir_version
  model.Nested(7, written);    // graph
  model.Nested(8, operators);  // opset_import
  return model.bytes();
}

}  // namespace teaching
