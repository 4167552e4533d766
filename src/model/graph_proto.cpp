#include <unordered_set>

#include "base/check.h"
#include "base/load_limits.h"
#include "model/proto.h"

namespace tessera {
namespace {

using onnx::AttributeProto;

onnx::SparseTensorProto ToSparseProto(const SparseTensor& sparse) {
  onnx::SparseTensorProto proto;
  *proto.mutable_values() = ToProto(sparse.values, "");
  *proto.mutable_indices() = ToProto(sparse.indices, "");
  for (int64_t dim : sparse.dense_shape) proto.add_dims(dim);
  return proto;
}

/// Fills the message's field for each kind of attribute value.
struct AttributeWriter {
  AttributeProto& proto;
  const NameCapture& capture;

  void operator()(std::monostate) const {}
  void operator()(int64_t value) const {
    proto.set_type(AttributeProto::INT);
    proto.set_i(value);
  }
  void operator()(float value) const {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(value);
  }
  void operator()(const std::string& value) const {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(value);
  }
  void operator()(const Tensor& value) const {
    proto.set_type(AttributeProto::TENSOR);
    *proto.mutable_t() = ToProto(value, "");
  }
  void operator()(const SparseTensor& value) const {
    proto.set_type(AttributeProto::SPARSE_TENSOR);
    *proto.mutable_sparse_tensor() = ToSparseProto(value);
  }
  void operator()(const TypeInfo& value) const {
    proto.set_type(AttributeProto::TYPE_PROTO);
    *proto.mutable_tp() = ToProto(value);
  }
  void operator()(const std::shared_ptr<Graph>& value) const {
    proto.set_type(AttributeProto::GRAPH);
    *proto.mutable_g() = ToProto(*value, capture);
  }
  void operator()(const std::vector<int64_t>& values) const {
    proto.set_type(AttributeProto::INTS);
    proto.mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<float>& values) const {
    proto.set_type(AttributeProto::FLOATS);
    proto.mutable_floats()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<std::string>& values) const {
    proto.set_type(AttributeProto::STRINGS);
    for (const std::string& value : values) proto.add_strings(value);
  }
  void operator()(const std::vector<Tensor>& values) const {
    proto.set_type(AttributeProto::TENSORS);
    for (const Tensor& value : values) *proto.add_tensors() = ToProto(value, "");
  }
  void operator()(const std::vector<TypeInfo>& values) const {
    proto.set_type(AttributeProto::TYPE_PROTOS);
    for (const TypeInfo& value : values) *proto.add_type_protos() = ToProto(value);
  }
};

AttributeProto ToAttributeProto(const Attribute& attribute, const NameCapture& capture) {
  AttributeProto proto;
  proto.set_name(attribute.name);
  std::visit(AttributeWriter{proto, capture}, attribute.value);
  return proto;
}

class GraphWriter {
 public:
  GraphWriter(const Graph& graph, const NameCapture& capture) : graph_(graph), capture_(capture) {}

  onnx::GraphProto Write() {
    proto_.set_name(graph_.name().empty() ? "graph" : graph_.name());
    for (ValueIndex input : graph_.inputs()) {
      Declare(input, *proto_.add_input());
      if (graph_.value(input).default_value) AddInitializer(input, *graph_.value(input).default_value);
    }
    for (NodeIndex index : graph_.TopologicalOrder()) WriteNode(graph_.node(index));
    for (ValueIndex output : graph_.outputs()) {
      UseConstant(output);
      Declare(output, *proto_.add_output());
    }
    return std::move(proto_);
  }

 private:
  /// Captured values take their names from outside.
  std::string NameOf(ValueIndex index) const {
    if (index == kNone) return {};
    const GraphValue& value = graph_.value(index);
    if (value.outer == kNone) return value.name;
    if (capture_) return capture_(graph_, index);
    return graph_.parent() == nullptr ? value.name : GraphWriter(*graph_.parent(), nullptr).NameOf(value.outer);
  }

  void Declare(ValueIndex index, onnx::ValueInfoProto& info) const {
    info.set_name(NameOf(index));
    const TypeInfo& type = graph_.value(index).type;
    if (type.kind != ValueKind::kNone) *info.mutable_type() = ToProto(type);
  }

  void AddInitializer(ValueIndex index, const Tensor& tensor) {
    if (written_.insert(index).second) *proto_.add_initializer() = ToProto(tensor, NameOf(index));
  }

  void UseConstant(ValueIndex index) {
    if (index != kNone && graph_.value(index).constant) AddInitializer(index, *graph_.value(index).constant);
  }

  void WriteNode(const Node& node) {
    graph_.limits().Check();
    onnx::NodeProto& written = *proto_.add_node();
    written.set_name(node.name);
    written.set_domain(node.domain);
    written.set_op_type(node.op_type);
    written.set_overload(node.overload);
    for (ValueIndex input : node.inputs) {
      UseConstant(input);
      written.add_input(NameOf(input));
    }
    // Constants that only nested graphs read are theirs by name, and live here.
    for (ValueIndex captured : node.implicit_inputs) UseConstant(captured);
    for (ValueIndex output : node.outputs) {
      written.add_output(NameOf(output));
      if (output == kNone) continue;
      const GraphValue& value = graph_.value(output);
      if (value.type.kind != ValueKind::kNone && !value.is_output) Declare(output, *proto_.add_value_info());
    }
    for (const Attribute& attribute : node.attributes) {
      // What this graph captures, its nested graphs name alike.
      const NameCapture nested = [this](const Graph& inner, ValueIndex local) { return NameOf(inner.value(local).outer); };
      *written.add_attribute() = ToAttributeProto(attribute, capture_ ? nested : NameCapture());
    }
  }

  const Graph& graph_;
  const NameCapture& capture_;
  onnx::GraphProto proto_;
  std::unordered_set<ValueIndex> written_;
};

}  // namespace

AttributeProto ToProto(const Attribute& attribute) { return ToAttributeProto(attribute, nullptr); }

onnx::GraphProto ToProto(const Graph& graph, const NameCapture& capture) { return GraphWriter(graph, capture).Write(); }

}  // namespace tessera
