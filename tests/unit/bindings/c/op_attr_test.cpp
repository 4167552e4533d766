// Attributes, of nodes and made by clients.

#include <gmock/gmock.h>

#include <vector>

#include "bindings/c/table.h"
#include "bindings/c/views/graph_view.h"
#include "model/model.h"
#include "model_builder.h"

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;

onnx::AttributeProto& Add(onnx::NodeProto& node, const std::string& name, onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& added = *node.add_attribute();
  added.set_name(name);
  added.set_type(type);
  return added;
}

/// A node of an operator that nobody knows, with an attribute of each kind.
ModelBuilder ModelOfAttributes() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  auto* import = model.proto().add_opset_import();
  import->set_domain("com.example");
  import->set_version(3);
  onnx::NodeProto& node = model.Node("Many", {"x"}, {"y"}, "many");
  node.set_domain("com.example");
  Add(node, "int", onnx::AttributeProto::INT).set_i(-5);
  Add(node, "float", onnx::AttributeProto::FLOAT).set_f(0.5f);
  Add(node, "string", onnx::AttributeProto::STRING).set_s("text");
  auto& ints = Add(node, "ints", onnx::AttributeProto::INTS);
  for (const int64_t value : {1, 2, 3}) ints.add_ints(value);
  auto& floats = Add(node, "floats", onnx::AttributeProto::FLOATS);
  for (const float value : {1.5f, 2.5f}) floats.add_floats(value);
  auto& strings = Add(node, "strings", onnx::AttributeProto::STRINGS);
  for (const char* text : {"a", "", "bcd"}) strings.add_strings(text);
  Add(node, "no ints", onnx::AttributeProto::INTS);
  auto& tensor = *Add(node, "tensor", onnx::AttributeProto::TENSOR).mutable_t();
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(2);
  tensor.add_float_data(7);
  tensor.add_float_data(8);
  auto& graph = *Add(node, "graph", onnx::AttributeProto::GRAPH).mutable_g();
  ModelBuilder::AddNode(graph, "Neg", {"x"}, {"n"}, "neg");
  ModelBuilder::Declare(graph.add_output(), "n", ElementType::kFloat, {2});
  auto& type = *Add(node, "type", onnx::AttributeProto::TYPE_PROTO).mutable_tp()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  return model;
}

class AttributeViews : public ::testing::Test {
 protected:
  AttributeViews() {
    const std::string bytes = ModelOfAttributes().bytes();
    model_ = LoadModel(std::as_bytes(std::span(bytes)), nullptr, {});
    view_ = c_abi::ViewOf(GraphViewer(*model_.graph), c_abi::FactsOf(model_.metadata, model_.has_version, {}));
    RequireOk(Api().Graph_GetNodes(view_.get(), &node_, 1));
  }

  const OrtOpAttr* Find(const char* name) const { return Ask(Api().Node_GetAttributeByName, node_, name); }

  Model model_;
  std::unique_ptr<OrtGraph> view_;
  const OrtNode* node_ = nullptr;
};

/// As clients do: the size first.
template <class T>
std::vector<T> Read(const OrtOpAttr* attribute, OrtOpAttrType type) {
  size_t size = 0;
  CodeOf(Api().ReadOpAttr(attribute, type, nullptr, 0, &size));
  std::vector<T> values(size / sizeof(T));
  RequireOk(Api().ReadOpAttr(attribute, type, values.data(), size, &size));
  return values;
}

std::string ReadText(const OrtOpAttr* attribute, OrtOpAttrType type) {
  const std::vector<char> bytes = Read<char>(attribute, type);
  return {bytes.begin(), bytes.end()};
}

TEST_F(AttributeViews, EachKindHasItsType) {
  const std::pair<const char*, OrtOpAttrType> types[] = {
      {"int", ORT_OP_ATTR_INT},      {"float", ORT_OP_ATTR_FLOAT},   {"string", ORT_OP_ATTR_STRING},
      {"ints", ORT_OP_ATTR_INTS},    {"floats", ORT_OP_ATTR_FLOATS}, {"strings", ORT_OP_ATTR_STRINGS},
      {"no ints", ORT_OP_ATTR_INTS}, {"tensor", ORT_OP_ATTR_TENSOR}, {"graph", ORT_OP_ATTR_GRAPH},
  };
  for (const auto& [name, type] : types) {
    EXPECT_EQ(Ask(Api().OpAttr_GetType, Find(name)), type) << name;
    EXPECT_STREQ(Ask(Api().OpAttr_GetName, Find(name)), name);
  }
  OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;
  EXPECT_EQ(CodeOf(Api().OpAttr_GetType(Find("type"), &type)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(Ask(Api().Node_GetNumAttributes, node_), 10u);
  EXPECT_EQ(Ask(Api().Node_GetNumSubgraphs, node_), 1u);
  EXPECT_STREQ(Ask(Api().Node_GetDomain, node_), "com.example");
  EXPECT_EQ(Ask(Api().Node_GetSinceVersion, node_), 3);
}

TEST_F(AttributeViews, ValuesAreRead) {
  EXPECT_THAT(Read<int64_t>(Find("int"), ORT_OP_ATTR_INT), ElementsAre(-5));
  EXPECT_THAT(Read<float>(Find("float"), ORT_OP_ATTR_FLOAT), ElementsAre(0.5f));
  EXPECT_EQ(ReadText(Find("string"), ORT_OP_ATTR_STRING), "text");
  EXPECT_THAT(Read<int64_t>(Find("ints"), ORT_OP_ATTR_INTS), ElementsAre(1, 2, 3));
  EXPECT_THAT(Read<float>(Find("floats"), ORT_OP_ATTR_FLOATS), ElementsAre(1.5f, 2.5f));
  EXPECT_EQ(ReadText(Find("strings"), ORT_OP_ATTR_STRINGS), std::string("a\0\0bcd\0", 7));
  EXPECT_TRUE(Read<int64_t>(Find("no ints"), ORT_OP_ATTR_INTS).empty());
}

TEST_F(AttributeViews, TensorsAreCopies) {
  OrtValue* value = Ask(Api().OpAttr_GetTensorAttributeAsOrtValue, Find("tensor"));
  void* data = nullptr;
  RequireOk(Api().GetTensorMutableData(value, &data));
  EXPECT_EQ(static_cast<float*>(data)[1], 8);
  static_cast<float*>(data)[1] = 9;
  Api().ReleaseValue(value);
  value = Ask(Api().OpAttr_GetTensorAttributeAsOrtValue, Find("tensor"));
  RequireOk(Api().GetTensorMutableData(value, &data));
  EXPECT_EQ(static_cast<float*>(data)[1], 8);
  Api().ReleaseValue(value);
  EXPECT_EQ(CodeOf(Api().OpAttr_GetTensorAttributeAsOrtValue(Find("int"), &value)), ORT_INVALID_ARGUMENT);
}

TEST_F(AttributeViews, WrongQuestionsAreErrors) {
  int64_t room[2] = {};
  size_t size = 0;
  EXPECT_EQ(CodeOf(Api().ReadOpAttr(Find("ints"), ORT_OP_ATTR_INTS, room, sizeof(room), &size)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(size, 3 * sizeof(int64_t));
  EXPECT_EQ(CodeOf(Api().ReadOpAttr(Find("ints"), ORT_OP_ATTR_INTS, nullptr, 24, &size)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().ReadOpAttr(Find("ints"), ORT_OP_ATTR_FLOATS, room, sizeof(room), &size)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().ReadOpAttr(Find("graph"), ORT_OP_ATTR_GRAPH, room, sizeof(room), &size)), ORT_INVALID_ARGUMENT);
  const OrtOpAttr* none = nullptr;
  EXPECT_EQ(CodeOf(Api().Node_GetAttributeByName(node_, "absent", &none)), ORT_NOT_FOUND);
  EXPECT_EQ(CodeOf(Api().Node_GetAttributeByName(node_, nullptr, &none)), ORT_INVALID_ARGUMENT);
}

TEST(ViewsOfDefaults, AttributesThatAreLeftOutHaveTheirDefaults) {
  ModelBuilder builder;
  builder.Input("x", ElementType::kFloat, {1, 1, 4, 4}).Output("y", ElementType::kFloat, {1, 1, 4, 4});
  builder.Floats("w", {1, 1, 1, 1}, {2});
  builder.Node("Conv", {"x", "w"}, {"y"});
  const std::string bytes = builder.bytes();
  const Model model = LoadModel(std::as_bytes(std::span(bytes)), nullptr, {});
  const auto view = c_abi::ViewOf(GraphViewer(*model.graph), c_abi::FactsOf(model.metadata, model.has_version, {}));
  const OrtNode* node = nullptr;
  RequireOk(Api().Graph_GetNodes(view.get(), &node, 1));
  EXPECT_EQ(Ask(Api().Node_GetNumAttributes, node), 2u);
  EXPECT_THAT(Read<int64_t>(Ask(Api().Node_GetAttributeByName, node, "group"), ORT_OP_ATTR_INT), ElementsAre(1));
  EXPECT_EQ(ReadText(Ask(Api().Node_GetAttributeByName, node, "auto_pad"), ORT_OP_ATTR_STRING), "NOTSET");
  EXPECT_EQ(Ask(Api().Node_GetAttributeByName, node, "pads"), nullptr);
  const OrtOpAttr* none = nullptr;
  EXPECT_EQ(CodeOf(Api().Node_GetAttributeByName(node, "axes", &none)), ORT_NOT_FOUND);
}

TEST(MadeAttributes, HoldWhatTheyWereMadeOf) {
  const int64_t ints[] = {4, 5};
  const char* texts[] = {"one", "two"};
  OrtOpAttr* made = nullptr;
  RequireOk(Api().CreateOpAttr("ints", ints, 2, ORT_OP_ATTR_INTS, &made));
  EXPECT_STREQ(Ask(Api().OpAttr_GetName, static_cast<const OrtOpAttr*>(made)), "ints");
  EXPECT_THAT(Read<int64_t>(made, ORT_OP_ATTR_INTS), ElementsAre(4, 5));
  Api().ReleaseOpAttr(made);
  RequireOk(Api().CreateOpAttr("texts", texts, 2, ORT_OP_ATTR_STRINGS, &made));
  EXPECT_EQ(ReadText(made, ORT_OP_ATTR_STRINGS), std::string("one\0two\0", 8));
  Api().ReleaseOpAttr(made);
  RequireOk(Api().CreateOpAttr("text", "a\0b", 3, ORT_OP_ATTR_STRING, &made));  // as many bytes as are told
  EXPECT_EQ(ReadText(made, ORT_OP_ATTR_STRING), std::string("a\0b", 3));
  Api().ReleaseOpAttr(made);
  EXPECT_EQ(CodeOf(Api().CreateOpAttr("graph", ints, 1, ORT_OP_ATTR_GRAPH, &made)), ORT_FAIL);
  EXPECT_EQ(CodeOf(Api().CreateOpAttr(nullptr, ints, 1, ORT_OP_ATTR_INT, &made)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().CreateOpAttr("ints", ints, -1, ORT_OP_ATTR_INTS, &made)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().CreateOpAttr("ints", nullptr, 2, ORT_OP_ATTR_INTS, &made)), ORT_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tessera::testing
