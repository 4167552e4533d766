// The graph as libraries of providers read it, by the table of functions.

#include "bindings/c/views/graph_view.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <vector>

#include "bindings/c/table.h"
#include "graph/graph.h"
#include "model/model.h"
#include "model_builder.h"
#include "temporary_folder.h"

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using c_abi::FactsOf;
using c_abi::ModelFacts;
using c_abi::ViewOf;

std::string Name(const OrtValueInfo* value) { return value == nullptr ? "-" : Ask(Api().GetValueInfoName, value); }
std::string Name(const OrtNode* node) { return Ask(Api().Node_GetName, node); }

template <class T, class Owner, class Count, class Get>
std::vector<const T*> ListOf(const Owner* owner, Count count, Get get) {
  std::vector<const T*> list(Ask(count, owner));
  RequireOk(get(owner, list.data(), list.size()));
  return list;
}

using Values = std::vector<const OrtValueInfo*>;
Values InputsOf(const OrtGraph* graph) {
  return ListOf<OrtValueInfo>(graph, Api().Graph_GetNumInputs, Api().Graph_GetInputs);
}
Values OutputsOf(const OrtGraph* graph) {
  return ListOf<OrtValueInfo>(graph, Api().Graph_GetNumOutputs, Api().Graph_GetOutputs);
}
Values InitializersOf(const OrtGraph* graph) {
  return ListOf<OrtValueInfo>(graph, Api().Graph_GetNumInitializers, Api().Graph_GetInitializers);
}
std::vector<const OrtNode*> NodesOf(const OrtGraph* graph) {
  return ListOf<OrtNode>(graph, Api().Graph_GetNumNodes, Api().Graph_GetNodes);
}
Values InputsOf(const OrtNode* node) { return ListOf<OrtValueInfo>(node, Api().Node_GetNumInputs, Api().Node_GetInputs); }
Values OutputsOf(const OrtNode* node) {
  return ListOf<OrtValueInfo>(node, Api().Node_GetNumOutputs, Api().Node_GetOutputs);
}
Values ImplicitInputsOf(const OrtNode* node) {
  return ListOf<OrtValueInfo>(node, Api().Node_GetNumImplicitInputs, Api().Node_GetImplicitInputs);
}
std::vector<const OrtOpAttr*> AttributesOf(const OrtNode* node) {
  return ListOf<OrtOpAttr>(node, Api().Node_GetNumAttributes, Api().Node_GetAttributes);
}

template <class List>
std::vector<std::string> Names(const List& list) {
  std::vector<std::string> names;
  for (const auto* entry : list) names.push_back(Name(entry));
  return names;
}

/// "node:input" of each reader.
std::vector<std::string> ConsumersOf(const OrtValueInfo* value) {
  const size_t count = Ask(Api().ValueInfo_GetValueNumConsumers, value);
  std::vector<const OrtNode*> nodes(count);
  std::vector<int64_t> inputs(count);
  RequireOk(Api().ValueInfo_GetValueConsumers(value, nodes.data(), inputs.data(), count));
  std::vector<std::string> consumers;
  for (size_t i = 0; i < count; ++i) consumers.push_back(Name(nodes[i]) + ":" + std::to_string(inputs[i]));
  return consumers;
}

/// "node:output", or "-".
std::string ProducerOf(const OrtValueInfo* value) {
  const OrtNode* node = nullptr;
  size_t output = 7;
  RequireOk(Api().ValueInfo_GetValueProducer(value, &node, &output));
  return node == nullptr ? "-" : Name(node) + ":" + std::to_string(output);
}

template <class List>
auto Named(const List& list, const std::string& name) {
  for (const auto* entry : list) {
    if (Name(entry) == name) return entry;
  }
  throw std::runtime_error("there is no " + name);
}

struct Flags {
  bool required, optional, output, constant, outer;
  bool operator==(const Flags&) const = default;
};
Flags FlagsOf(const OrtValueInfo* value) {
  return {Ask(Api().ValueInfo_IsRequiredGraphInput, value), Ask(Api().ValueInfo_IsOptionalGraphInput, value),
          Ask(Api().ValueInfo_IsGraphOutput, value), Ask(Api().ValueInfo_IsConstantInitializer, value),
          Ask(Api().ValueInfo_IsFromOuterScope, value)};
}

void AddGraph(onnx::NodeProto& node, const std::string& attribute, const onnx::GraphProto& graph) {
  auto* added = node.add_attribute();
  added->set_name(attribute);
  added->set_type(onnx::AttributeProto::GRAPH);
  *added->mutable_g() = graph;
}

void AddFloats(onnx::GraphProto& graph, const std::string& name, const std::vector<float>& values) {
  auto* tensor = graph.add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  tensor->mutable_float_data()->Add(values.begin(), values.end());
}

onnx::GraphProto Branch(const std::string& name) {
  onnx::GraphProto graph;
  graph.set_name(name);
  return graph;
}

/// x, cond -> Add with an overridable w -> Clip without a minimum -> If -> Loop with an If inside -> d.
ModelBuilder NestedModel() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3}).Input("cond", ElementType::kBool, {}).Input("w", ElementType::kFloat, {3});
  model.Floats("w", {3}, {1, 2, 3}).Floats("k", {3}, {4, 5, 6}).Floats("most", {}, {6});
  model.Constant("trips", {}, std::span<const int64_t>(std::vector<int64_t>{3}));
  model.Output("d", ElementType::kFloat, {2, 3}).Output("b", ElementType::kFloat, {2, 3});
  model.Node("Add", {"x", "w"}, {"a"}, "add");
  model.Node("Clip", {"a", "", "most"}, {"b"}, "clip");

  onnx::GraphProto then_branch = Branch("then graph"), else_branch = Branch("else graph");
  ModelBuilder::AddNode(then_branch, "Mul", {"b", "k"}, {"t"}, "then mul");
  ModelBuilder::Declare(then_branch.add_output(), "t", ElementType::kFloat, {2, 3});
  AddFloats(else_branch, "two", {2});
  ModelBuilder::AddNode(else_branch, "Sub", {"b", "two"}, {"e0"}, "else sub");
  ModelBuilder::AddNode(else_branch, "Add", {"e0", "e0"}, {"e"}, "else add");
  ModelBuilder::Declare(else_branch.add_output(), "e", ElementType::kFloat, {2, 3});
  onnx::NodeProto& branches = model.Node("If", {"cond"}, {"c"}, "if");
  AddGraph(branches, "then_branch", then_branch);
  AddGraph(branches, "else_branch", else_branch);

  onnx::GraphProto body = Branch("body"), inner_then = Branch("inner then"), inner_else = Branch("inner else");
  ModelBuilder::Declare(body.add_input(), "i", ElementType::kInt64, {});
  ModelBuilder::Declare(body.add_input(), "going", ElementType::kBool, {});
  ModelBuilder::Declare(body.add_input(), "s", ElementType::kFloat, {2, 3});
  ModelBuilder::AddNode(body, "Identity", {"going"}, {"goes"}, "body identity");
  ModelBuilder::AddNode(inner_then, "Add", {"s", "k"}, {"deep"}, "deep add");
  ModelBuilder::Declare(inner_then.add_output(), "deep", ElementType::kFloat, {2, 3});
  ModelBuilder::AddNode(inner_else, "Add", {"s", "x"}, {"deeper"}, "deep other");
  ModelBuilder::Declare(inner_else.add_output(), "deeper", ElementType::kFloat, {2, 3});
  onnx::NodeProto& inner = ModelBuilder::AddNode(body, "If", {"going"}, {"next"}, "body if");
  AddGraph(inner, "then_branch", inner_then);
  AddGraph(inner, "else_branch", inner_else);
  ModelBuilder::Declare(body.add_output(), "goes", ElementType::kBool, {});
  ModelBuilder::Declare(body.add_output(), "next", ElementType::kFloat, {2, 3});
  AddGraph(model.Node("Loop", {"trips", "", "c"}, {"d"}, "loop"), "body", body);
  return model;
}

Model Load(const ModelBuilder& model) {
  const std::string bytes = model.bytes();
  return LoadModel(std::as_bytes(std::span(bytes)), nullptr, {});
}

class ViewsTest : public ::testing::Test {
 protected:
  ViewsTest() : ViewsTest(NestedModel()) {}
  explicit ViewsTest(const ModelBuilder& builder)
      : model_(Load(builder)),
        facts_(FactsOf(model_.metadata, model_.has_version, "/models/nested.onnx")),
        view_(ViewOf(GraphViewer(*model_.graph), facts_)) {}

  const OrtGraph* view() const { return view_.get(); }
  const OrtNode* node(const std::string& name) const { return Named(NodesOf(view()), name); }

  /// The nested graph of a node.
  static const OrtGraph* Nested(const OrtNode* node, const std::string& attribute) {
    const size_t count = Ask(Api().Node_GetNumSubgraphs, node);
    std::vector<const OrtGraph*> graphs(count);
    std::vector<const char*> names(count);
    RequireOk(Api().Node_GetSubgraphs(node, graphs.data(), count, names.data()));
    for (size_t i = 0; i < count; ++i) {
      if (names[i] == attribute) return graphs[i];
    }
    throw std::runtime_error("there is no nested graph " + attribute);
  }

  const Model model_;
  const std::shared_ptr<const ModelFacts> facts_;
  const std::unique_ptr<OrtGraph> view_;
};

TEST_F(ViewsTest, GraphsTellWhatTheyAre) {
  EXPECT_STREQ(Ask(Api().Graph_GetName, view()), "test");
  EXPECT_STREQ(Ask(Api().Graph_GetModelPath, view()), "/models/nested.onnx");
  EXPECT_EQ(Ask(Api().Graph_GetOnnxIRVersion, view()), 10);
  EXPECT_EQ(Ask(Api().Graph_GetParentNode, view()), nullptr);
  ASSERT_EQ(Ask(Api().Graph_GetNumOperatorSets, view()), 1u);
  const char* domain = nullptr;
  int64_t version = 0;
  RequireOk(Api().Graph_GetOperatorSets(view(), &domain, &version, 1));
  EXPECT_STREQ(domain, "");
  EXPECT_EQ(version, 21);
}

TEST_F(ViewsTest, InputsOutputsAndInitializersAreTheModels) {
  EXPECT_THAT(Names(InputsOf(view())), ElementsAre("x", "cond", "w"));
  EXPECT_THAT(Names(OutputsOf(view())), ElementsAre("d", "b"));
  EXPECT_THAT(Names(InitializersOf(view())), ::testing::UnorderedElementsAre("w", "k", "most", "trips"));
  EXPECT_EQ(FlagsOf(InputsOf(view())[0]), (Flags{.required = true}));
  EXPECT_EQ(FlagsOf(InputsOf(view())[2]), (Flags{.optional = true}));
  EXPECT_EQ(FlagsOf(OutputsOf(view())[0]), (Flags{.output = true}));
  EXPECT_EQ(FlagsOf(Named(InitializersOf(view()), "k")), (Flags{.constant = true}));
}

TEST_F(ViewsTest, InitializersShareTheModelsMemory) {
  for (const char* name : {"w", "k"}) {
    const OrtValue* value = Ask(Api().ValueInfo_GetInitializerValue, Named(InitializersOf(view()), name));
    const GraphValue& held = model_.graph->value(model_.graph->FindValue(name));
    const Tensor& tensor = held.constant ? *held.constant : *held.default_value;
    EXPECT_EQ(Ask(Api().GetTensorData, value), tensor.raw());
  }
  EXPECT_EQ(Ask(Api().ValueInfo_GetInitializerValue, InputsOf(view())[0]), nullptr);
  EXPECT_EQ(Ask(Api().ValueInfo_GetExternalInitializerInfo, Named(InitializersOf(view()), "k")), nullptr);
}

TEST_F(ViewsTest, ValuesHaveTypes) {
  const OrtTypeInfo* type = Ask(Api().GetValueInfoTypeInfo, InputsOf(node("clip"))[0]);
  const OrtTensorTypeAndShapeInfo* tensor = Ask(Api().CastTypeInfoToTensorInfo, type);
  EXPECT_EQ(Ask(Api().GetTensorElementType, tensor), ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  int64_t dims[2];
  ASSERT_EQ(Ask(Api().GetDimensionsCount, tensor), 2u);
  RequireOk(Api().GetDimensions(tensor, dims, 2));
  EXPECT_THAT(dims, ElementsAre(2, 3));
}

TEST_F(ViewsTest, NodesAreInOrderAndTellWhatTheyAre) {
  EXPECT_THAT(Names(NodesOf(view())), ElementsAre("add", "clip", "if", "loop"));
  const OrtNode* clip = node("clip");
  EXPECT_STREQ(Ask(Api().Node_GetOperatorType, clip), "Clip");
  EXPECT_STREQ(Ask(Api().Node_GetDomain, clip), "");
  EXPECT_STREQ(Ask(Api().Node_GetEpName, clip), "");
  EXPECT_EQ(Ask(Api().Node_GetSinceVersion, clip), 13);
  EXPECT_EQ(Ask(Api().Node_GetId, clip), static_cast<size_t>(c_abi::IndexOf(*clip)));
  EXPECT_EQ(Ask(Api().Node_GetGraph, clip), view());
  EXPECT_EQ(&c_abi::GraphOf(*clip), model_.graph.get());
  EXPECT_EQ(&c_abi::ViewerOf(*view()).graph(), model_.graph.get());
  EXPECT_THAT(Names(InputsOf(clip)), ElementsAre("a", "-", "most"));
  EXPECT_THAT(Names(OutputsOf(clip)), ElementsAre("b"));
  EXPECT_THAT(ImplicitInputsOf(clip), IsEmpty());
}

TEST_F(ViewsTest, ObjectsAreTheSameEachTime) {
  EXPECT_EQ(NodesOf(view()), NodesOf(view()));
  EXPECT_EQ(InputsOf(node("clip"))[0], OutputsOf(node("add"))[0]);
  EXPECT_EQ(OutputsOf(node("clip"))[0], OutputsOf(view())[1]);
  EXPECT_EQ(Nested(node("if"), "then_branch"), Nested(node("if"), "then_branch"));
  EXPECT_EQ(AttributesOf(node("if")), AttributesOf(node("if")));
}

TEST_F(ViewsTest, ValuesKnowProducerAndConsumers) {
  EXPECT_EQ(ProducerOf(InputsOf(view())[0]), "-");
  EXPECT_EQ(ProducerOf(OutputsOf(view())[1]), "clip:0");
  EXPECT_THAT(ConsumersOf(InputsOf(view())[0]), ElementsAre("add:0", "loop:-1"));
  EXPECT_THAT(ConsumersOf(OutputsOf(view())[1]), ElementsAre("if:-1"));
  EXPECT_THAT(ConsumersOf(OutputsOf(view())[0]), IsEmpty());
  const Values inner = OutputsOf(Named(NodesOf(Nested(node("if"), "else_branch")), "else sub"));
  EXPECT_THAT(ConsumersOf(inner[0]), ElementsAre("else add:0", "else add:1"));
}

TEST_F(ViewsTest, NestedGraphsAreInTheirNode) {
  const OrtGraph* else_branch = Nested(node("if"), "else_branch");
  EXPECT_STREQ(Ask(Api().Graph_GetName, else_branch), "else graph");
  EXPECT_EQ(Ask(Api().Graph_GetParentNode, else_branch), node("if"));
  EXPECT_THAT(Names(ImplicitInputsOf(node("if"))), ::testing::UnorderedElementsAre("b", "k"));
  EXPECT_THAT(Names(InitializersOf(else_branch)), ElementsAre("two"));
  const OrtValueInfo* captured = InputsOf(Named(NodesOf(else_branch), "else sub"))[0];
  EXPECT_EQ(Name(captured), "b");
  EXPECT_EQ(FlagsOf(captured), (Flags{.outer = true}));
  EXPECT_EQ(ProducerOf(captured), "-");
  EXPECT_THAT(ConsumersOf(captured), ElementsAre("else sub:0"));

  const OrtGraph* body = Nested(node("loop"), "body");
  EXPECT_THAT(Names(InputsOf(body)), ElementsAre("i", "going", "s"));
  EXPECT_EQ(FlagsOf(InputsOf(body)[2]), (Flags{.required = true}));
  const OrtNode* inner = Named(NodesOf(body), "body if");
  const OrtGraph* deep = Nested(inner, "then_branch");
  EXPECT_EQ(Ask(Api().Node_GetGraph, Ask(Api().Graph_GetParentNode, deep)), body);
  const OrtValueInfo* constant = InputsOf(NodesOf(deep)[0])[1];
  EXPECT_EQ(Name(constant), "k");
  EXPECT_EQ(FlagsOf(constant), (Flags{.constant = true, .outer = true}));
  EXPECT_NE(Ask(Api().ValueInfo_GetInitializerValue, constant), nullptr);
}

TEST_F(ViewsTest, ViewsOfNestedGraphsFindTheirHolder) {
  const OrtNode* loop = node("loop");
  const auto body = ViewOf(c_abi::ViewerOf(*Nested(loop, "body")), facts_);
  const OrtNode* holder = Ask(Api().Graph_GetParentNode, body.get());
  ASSERT_NE(holder, nullptr);
  EXPECT_EQ(Name(holder), "loop");
  EXPECT_EQ(Nested(holder, "body"), body.get());
  const OrtGraph* around = Ask(Api().Node_GetGraph, holder);
  EXPECT_THAT(Names(NodesOf(around)), ElementsAre("add", "clip", "if", "loop"));
  EXPECT_EQ(Ask(Api().Graph_GetParentNode, around), nullptr);

  const auto deep = ViewOf(c_abi::ViewerOf(*Nested(Named(NodesOf(body.get()), "body if"), "then_branch")), facts_);
  holder = Ask(Api().Graph_GetParentNode, deep.get());
  EXPECT_EQ(Name(holder), "body if");
  EXPECT_EQ(Name(Ask(Api().Graph_GetParentNode, Ask(Api().Node_GetGraph, holder))), "loop");
}

TEST_F(ViewsTest, WindowsHaveBorders) {
  const OrtNode* nodes[] = {node("if"), node("clip")};
  OrtGraph* window = nullptr;
  RequireOk(Api().Graph_GetGraphView(view(), nodes, 2, &window));
  EXPECT_THAT(Names(NodesOf(window)), ElementsAre("clip", "if"));
  EXPECT_THAT(Names(InputsOf(window)), ElementsAre("a", "cond"));
  EXPECT_THAT(Names(OutputsOf(window)), ElementsAre("b", "c"));
  EXPECT_THAT(Names(InitializersOf(window)), ElementsAre("most", "k"));
  EXPECT_EQ(FlagsOf(InputsOf(window)[0]), (Flags{.required = true}));
  EXPECT_EQ(ProducerOf(InputsOf(window)[0]), "-");
  EXPECT_EQ(FlagsOf(OutputsOf(window)[1]), (Flags{.output = true}));
  EXPECT_THAT(ConsumersOf(OutputsOf(window)[1]), IsEmpty());
  EXPECT_EQ(Ask(Api().Node_GetId, NodesOf(window)[0]), Ask(Api().Node_GetId, nodes[1]));
  EXPECT_EQ(Ask(Api().Node_GetGraph, NodesOf(window)[0]), window);

  const OrtNode* again[] = {NodesOf(window)[0]};
  OrtGraph* smaller = nullptr;
  RequireOk(Api().Graph_GetGraphView(window, again, 1, &smaller));
  EXPECT_THAT(Names(NodesOf(smaller)), ElementsAre("clip"));
  Api().ReleaseGraph(smaller);
  Api().ReleaseGraph(window);
}

TEST_F(ViewsTest, WindowsAreOfTheGraphsOwnNodes) {
  const OrtNode* foreign[] = {NodesOf(Nested(node("if"), "then_branch"))[0]};
  const OrtNode* own[] = {node("clip")};
  OrtGraph* window = nullptr;
  EXPECT_EQ(CodeOf(Api().Graph_GetGraphView(view(), foreign, 1, &window)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Graph_GetGraphView(view(), own, 0, &window)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Graph_GetGraphView(view(), nullptr, 1, &window)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Graph_GetGraphView(view(), own, 1, nullptr)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(window, nullptr);
}

TEST_F(ViewsTest, ClientsReleaseOnlyWindowsThatTheyMade) {
  Api().ReleaseGraph(view_.get());
  Api().ReleaseGraph(const_cast<OrtGraph*>(Nested(node("if"), "then_branch")));
  Api().ReleaseNode(const_cast<OrtNode*>(node("if")));
  Api().ReleaseValueInfo(const_cast<OrtValueInfo*>(InputsOf(view())[0]));
  EXPECT_THAT(Names(NodesOf(view())), ElementsAre("add", "clip", "if", "loop"));
}

TEST_F(ViewsTest, DetachedNodesOutliveTheirGraph) {
  std::unique_ptr<OrtNode> detached;
  {
    const Model model = Load(NestedModel());
    const GraphViewer viewer(*model.graph);
    detached = c_abi::DetachedNode(viewer.node(viewer.nodes()[1]), viewer);
  }
  EXPECT_EQ(Name(detached.get()), "clip");
  EXPECT_STREQ(Ask(Api().Node_GetOperatorType, detached.get()), "Clip");
  EXPECT_THAT(Names(InputsOf(detached.get())), ElementsAre("a", "-", "most"));
  EXPECT_THAT(Names(OutputsOf(detached.get())), ElementsAre("b"));
  EXPECT_EQ(Ask(Api().Node_GetGraph, detached.get()), nullptr);
  EXPECT_EQ(Ask(Api().Node_GetNumAttributes, detached.get()), 0u);
  EXPECT_NE(Ask(Api().GetValueInfoTypeInfo, InputsOf(detached.get())[0]), nullptr);
  size_t count = 0;
  EXPECT_EQ(CodeOf(Api().ValueInfo_GetValueNumConsumers(InputsOf(detached.get())[0], &count)), ORT_FAIL);
}

TEST_F(ViewsTest, ListsThatDoNotFitAreRefused) {
  const OrtValueInfo* values[8] = {};
  const OrtNode* nodes[8] = {};
  const OrtGraph* graphs[8] = {};
  const OrtOpAttr* attributes[8] = {};
  const char* domains[8] = {};
  int64_t numbers[8] = {};
  const OrtNode* clip = node("clip");
  EXPECT_EQ(CodeOf(Api().Graph_GetInputs(view(), values, 2)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Graph_GetOutputs(view(), values, 1)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Graph_GetInitializers(view(), values, 3)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Graph_GetNodes(view(), nodes, 3)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Graph_GetNodes(view(), nullptr, 4)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Graph_GetOperatorSets(view(), domains, numbers, 0)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Graph_GetOperatorSets(view(), domains, nullptr, 1)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Node_GetInputs(clip, values, 2)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Node_GetOutputs(clip, values, 0)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Node_GetImplicitInputs(node("if"), values, 1)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Node_GetSubgraphs(node("if"), graphs, 1, nullptr)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Node_GetAttributes(node("if"), attributes, 1)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().ValueInfo_GetValueConsumers(InputsOf(view())[0], nodes, numbers, 1)), ORT_INVALID_ARGUMENT);
  // More room than is needed, and none where none is.
  EXPECT_EQ(CodeOf(Api().Graph_GetNodes(view(), nodes, 8)), ORT_OK);
  EXPECT_EQ(nodes[4], nullptr);
  EXPECT_EQ(CodeOf(Api().Node_GetAttributes(clip, nullptr, 0)), ORT_OK);
}

TEST_F(ViewsTest, NothingIsAnError) {
  const char* text = nullptr;
  size_t size = 0;
  bool flag = false;
  const OrtNode* found = nullptr;
  OrtExternalInitializerInfo* place = nullptr;
  EXPECT_EQ(CodeOf(Api().Graph_GetName(nullptr, &text)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Graph_GetName(view(), nullptr)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Graph_GetNumNodes(nullptr, &size)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Graph_GetParentNode(nullptr, &found)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Node_GetName(nullptr, &text)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().Node_GetNumInputs(node("if"), nullptr)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().GetValueInfoName(nullptr, &text)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().ValueInfo_IsGraphOutput(nullptr, &flag)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().ValueInfo_GetExternalInitializerInfo(nullptr, &place)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().OpAttr_GetName(nullptr, &text)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(Api().ExternalInitializerInfo_GetFilePath(nullptr), nullptr);
  Api().ReleaseGraph(nullptr);
  Api().ReleaseOpAttr(nullptr);
  Api().ReleaseExternalInitializerInfo(nullptr);
}

TEST(ViewsOfMetadata, AreTheModels) {
  ModelBuilder builder = NestedModel();
  builder.proto().set_producer_name("somebody");
  builder.proto().set_model_version(7);
  auto* entry = builder.proto().add_metadata_props();
  entry->set_key("key");
  entry->set_value("text");
  const Model model = Load(builder);
  const auto view = ViewOf(GraphViewer(*model.graph), FactsOf(model.metadata, model.has_version, {}));
  EXPECT_STREQ(Ask(Api().Graph_GetModelPath, static_cast<const OrtGraph*>(view.get())), "");
  OrtModelMetadata* metadata = Ask(Api().Graph_GetModelMetadata, static_cast<const OrtGraph*>(view.get()));
  OrtAllocator* allocator = nullptr;
  RequireOk(Api().GetAllocatorWithDefaultOptions(&allocator));
  char* text = Ask(Api().ModelMetadataGetProducerName, metadata, allocator);
  EXPECT_STREQ(text, "somebody");
  RequireOk(Api().AllocatorFree(allocator, text));
  text = Ask(Api().ModelMetadataLookupCustomMetadataMap, metadata, allocator, "key");
  EXPECT_STREQ(text, "text");
  RequireOk(Api().AllocatorFree(allocator, text));
  EXPECT_EQ(Ask(Api().ModelMetadataGetVersion, metadata), 7);
  Api().ReleaseModelMetadata(metadata);
}

TEST(ViewsOfExternalData, TellWhereItLies) {
  const TemporaryFolder folder;
  ModelBuilder builder;
  builder.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  builder.Floats("inside", {2}, {1, 2}).Floats("beside", {2}, {});
  auto* tensor = builder.proto().mutable_graph()->mutable_initializer(1);
  tensor->clear_raw_data();
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  const std::pair<const char*, const char*> places[] = {{"location", "weights.bin"}, {"offset", "16"}, {"length", "8"}};
  for (const auto& [key, text] : places) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(text);
  }
  builder.Node("Add", {"x", "inside"}, {"a"});
  builder.Node("Mul", {"a", "beside"}, {"y"});
  folder.Write("weights.bin", std::string(32, '\0'));
  const std::filesystem::path path = folder.Write("model.onnx", builder.bytes());

  const Model model = LoadModel(path);
  const auto view = ViewOf(GraphViewer(*model.graph), FactsOf(model.metadata, model.has_version, path));
  const Values initializers = InitializersOf(static_cast<const OrtGraph*>(view.get()));
  EXPECT_EQ(Ask(Api().ValueInfo_GetExternalInitializerInfo, Named(initializers, "inside")), nullptr);
  OrtExternalInitializerInfo* place = Ask(Api().ValueInfo_GetExternalInitializerInfo, Named(initializers, "beside"));
  ASSERT_NE(place, nullptr);
  EXPECT_STREQ(Api().ExternalInitializerInfo_GetFilePath(place), "weights.bin");
  EXPECT_EQ(Api().ExternalInitializerInfo_GetFileOffset(place), 16);
  EXPECT_EQ(Api().ExternalInitializerInfo_GetByteSize(place), 8u);
  Api().ReleaseExternalInitializerInfo(place);
}

}  // namespace
}  // namespace tessera::testing
