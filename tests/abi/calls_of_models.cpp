// Models that the program builds.

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "made_models.h"

namespace {

void Types() {
  OrtTensorTypeAndShapeInfo* shape = TensorInfo(kFloat, {{0, "n"}, {3}, {-1}});
  OrtTypeInfo* type = nullptr;
  Print("CreateTensorTypeInfo", editor->CreateTensorTypeInfo(shape, &type));
  PrintType("a tensor's type", type);
  OrtTypeInfo *sparse = nullptr, *map = nullptr, *sequence = nullptr, *optional = nullptr, *inner = nullptr;
  Print("CreateSparseTensorTypeInfo", editor->CreateSparseTensorTypeInfo(shape, &sparse));
  PrintType("a sparse tensor's type", sparse);
  Print("CreateMapTypeInfo", editor->CreateMapTypeInfo(kInt64, type, &map));
  PrintType("a map's type", map);
  const OrtMapTypeInfo* of_map = nullptr;
  Must(api->CastTypeInfoToMapTypeInfo(map, &of_map));
  ONNXTensorElementDataType key = kNoType;
  PrintValue("its key", api->GetMapKeyType(of_map, &key), key);
  Must(api->GetMapValueType(of_map, &inner));
  PrintType("its value", inner);
  api->ReleaseTypeInfo(inner);
  Print("CreateSequenceTypeInfo", editor->CreateSequenceTypeInfo(map, &sequence));
  const OrtSequenceTypeInfo* of_sequence = nullptr;
  Must(api->CastTypeInfoToSequenceTypeInfo(sequence, &of_sequence));
  Must(api->GetSequenceElementType(of_sequence, &inner));
  PrintType("a sequence's element", inner);
  api->ReleaseTypeInfo(inner);
  Print("CreateOptionalTypeInfo", editor->CreateOptionalTypeInfo(sequence, &optional));
  const OrtOptionalTypeInfo* of_optional = nullptr;
  Must(api->CastTypeInfoToOptionalTypeInfo(optional, &of_optional));
  Must(api->GetOptionalContainedTypeInfo(of_optional, &inner));
  PrintType("what an optional holds", inner);
  api->ReleaseTypeInfo(inner);
  OrtTypeInfo* none = nullptr;
  Print("a map of floats as keys", editor->CreateMapTypeInfo(kFloat, type, &none));
  api->ReleaseTypeInfo(std::exchange(none, nullptr));
  OrtTensorTypeAndShapeInfo* empty = nullptr;
  Must(api->CreateTensorTypeAndShapeInfo(&empty));
  const int64_t below[] = {-2};
  Print("a dimension below -1", api->SetDimensions(shape, below, 1));
  Print("a tensor of no type", editor->CreateTensorTypeInfo(empty, &none));
  api->ReleaseTypeInfo(std::exchange(none, nullptr));
  api->ReleaseTensorTypeAndShapeInfo(empty);
  const auto value_of = [](const char* call, const char* name, const OrtTypeInfo* its_type) {
    OrtValueInfo* value = nullptr;
    Print(call, editor->CreateValueInfo(name, its_type, &value));
    api->ReleaseValueInfo(value);
  };
  value_of("CreateValueInfo of a sparse tensor", "v", sparse);
  value_of("CreateValueInfo of a sequence", "v", sequence);
  value_of("CreateValueInfo of a map", "v", map);
  value_of("CreateValueInfo of an optional", "v", optional);
  value_of("CreateValueInfo without a name", "", type);
  value_of("CreateValueInfo without any name", nullptr, type);
  value_of("CreateValueInfo without a type", "v", nullptr);
  for (OrtTypeInfo* made : {type, sparse, map, sequence, optional}) api->ReleaseTypeInfo(made);
  api->ReleaseTensorTypeAndShapeInfo(shape);
}

void PrintFlag(const char* call, decltype(OrtApi::ValueInfo_IsGraphOutput) entry, const OrtValueInfo* value) {
  bool flag = false;
  PrintValue(call, entry(value, &flag), flag);
}

void ReadValueInfo() {
  OrtValueInfo* value = ValueInfo("X", kFloat, {{0, "n"}, {3}});
  const char* name = nullptr;
  PrintValue("a made value's name", api->GetValueInfoName(value, &name), name);
  const OrtTypeInfo* type = nullptr;
  Print("a made value's type is asked for", api->GetValueInfoTypeInfo(value, &type));
  PrintType("a made value's type", type);
  const OrtNode* producer = nullptr;
  size_t count = 7;
  Print("a made value's producer", api->ValueInfo_GetValueProducer(value, &producer, &count));
  Print("a made value's consumers", api->ValueInfo_GetValueNumConsumers(value, &count));
  const OrtNode* nodes[1] = {};
  int64_t indices[1] = {};
  Print("a made value's consumers themselves", api->ValueInfo_GetValueConsumers(value, nodes, indices, 1));
  const OrtValue* weight = nullptr;
  Print("a made value's weight", api->ValueInfo_GetInitializerValue(value, &weight));
  OrtExternalInitializerInfo* external = nullptr;
  Print("a made value's file", api->ValueInfo_GetExternalInitializerInfo(value, &external));
  PrintFlag("whether a made value is required", api->ValueInfo_IsRequiredGraphInput, value);
  PrintFlag("whether a made value is optional", api->ValueInfo_IsOptionalGraphInput, value);
  PrintFlag("whether a made value is an output", api->ValueInfo_IsGraphOutput, value);
  PrintFlag("whether a made value is constant", api->ValueInfo_IsConstantInitializer, value);
  PrintFlag("whether a made value is captured", api->ValueInfo_IsFromOuterScope, value);
  api->ReleaseValueInfo(value);
}

void ReadNode() {
  OrtNode* node = Node("Gemm", {"A", "B"}, {"C"}, {FloatAttribute("alpha", 2)}, "ai.onnx", "gemm");
  const char* text = nullptr;
  PrintValue("a made node's name", api->Node_GetName(node, &text), text);
  PrintValue("a made node's operator", api->Node_GetOperatorType(node, &text), text);
  PrintValue("a made node's domain", api->Node_GetDomain(node, &text), text);
  Print("a made node's provider", api->Node_GetEpName(node, &text));
  size_t count = 7;
  PrintValue("a made node's number", api->Node_GetId(node, &count), count);
  int version = 7;
  Print("a made node's version", api->Node_GetSinceVersion(node, &version));
  PrintValue("a made node's inputs", api->Node_GetNumInputs(node, &count), count);
  PrintValue("a made node's outputs", api->Node_GetNumOutputs(node, &count), count);
  PrintValue("a made node's attributes", api->Node_GetNumAttributes(node, &count), count);
  Print("a made node's captures", api->Node_GetNumImplicitInputs(node, &count));
  Print("a made node's nested graphs", api->Node_GetNumSubgraphs(node, &count));
  const OrtValueInfo* values[2] = {};
  Print("a made node's inputs themselves", api->Node_GetInputs(node, values, 2));
  Print("a made node's outputs themselves", api->Node_GetOutputs(node, values, 1));
  Print("a made node's captures themselves", api->Node_GetImplicitInputs(node, values, 1));
  const OrtOpAttr* attribute = nullptr;
  Print("a made node's attributes themselves", api->Node_GetAttributes(node, &attribute, 1));
  Print("a made node's attribute", api->Node_GetAttributeByName(node, "alpha", &attribute));
  Print("an attribute that a made node has not", api->Node_GetAttributeByName(node, "gamma", &attribute));
  const OrtGraph* graph = nullptr;
  Print("a made node's nested graphs themselves", api->Node_GetSubgraphs(node, &graph, 1, nullptr));
  Print("a made node's graph", api->Node_GetGraph(node, &graph));
  api->ReleaseNode(node);
}

void ReadGraph() {
  Graph made;
  made.Inputs({ValueInfo("A", kFloat, {{2}}), ValueInfo("B", kFloat, {{2}})}).Outputs({ValueInfo("C", kFloat, {{2}})});
  made.Weight("W", Counted({2})).Add(Node("Add", {"A", "B"}, {"C"})).Add(Node("Add", {"A", "W"}, {"D"}));
  const OrtGraph* graph = made.graph;
  const char* text = nullptr;
  PrintValue("a made graph's name", api->Graph_GetName(graph, &text), text);
  PrintValue("a made graph's path", api->Graph_GetModelPath(graph, &text), text);
  int64_t version = 0;
  Print("a made graph's format", api->Graph_GetOnnxIRVersion(graph, &version));
  OrtModelMetadata* metadata = nullptr;
  Print("a made graph's metadata", api->Graph_GetModelMetadata(graph, &metadata));
  api->ReleaseModelMetadata(metadata);
  size_t count = 7;
  PrintValue("a made graph's inputs", api->Graph_GetNumInputs(graph, &count), count);
  PrintValue("a made graph's outputs", api->Graph_GetNumOutputs(graph, &count), count);
  PrintValue("a made graph's weights", api->Graph_GetNumInitializers(graph, &count), count);
  PrintValue("a made graph's nodes", api->Graph_GetNumNodes(graph, &count), count);
  Print("a made graph's opsets", api->Graph_GetNumOperatorSets(graph, &count));
  int64_t versions[1] = {};
  Print("a made graph's opsets themselves", api->Graph_GetOperatorSets(graph, &text, versions, 1));
  const OrtValueInfo* values[2] = {};
  Print("a made graph's inputs themselves", api->Graph_GetInputs(graph, values, 2));
  Print("a made graph's outputs themselves", api->Graph_GetOutputs(graph, values, 1));
  Print("a made graph's weights themselves", api->Graph_GetInitializers(graph, values, 1));
  const OrtNode* nodes[2] = {};
  Print("a made graph's nodes themselves", api->Graph_GetNodes(graph, nodes, 2));
  Print("a made graph's parent", api->Graph_GetParentNode(graph, nodes));
  OrtGraph* view = nullptr;
  Print("a view of a made graph", api->Graph_GetGraphView(graph, nodes, 1, &view));
}

void WrongParts() {
  Graph made;
  OrtValueInfo* value = ValueInfo("A", kFloat, {{2}});
  OrtValueInfo* twice[] = {value, value};
  Print("an input twice", editor->SetGraphInputs(made.graph, twice, 2));
  OrtValueInfo* missing[] = {value, nullptr};
  Print("an input that is null", editor->SetGraphInputs(made.graph, missing, 2));
  std::printf("the first is the graph's: %d\n", missing[0] == nullptr ? 1 : 0);
  if (missing[0] == nullptr) value = ValueInfo("A", kFloat, {{2}});
  Print("inputs of null", editor->SetGraphInputs(made.graph, nullptr, 1));
  Print("no inputs", editor->SetGraphInputs(made.graph, nullptr, 0));
  Print("inputs of no graph", editor->SetGraphInputs(nullptr, &value, 1));
  Print("outputs of null", editor->SetGraphOutputs(made.graph, nullptr, 1));
  Print("outputs of no graph", editor->SetGraphOutputs(nullptr, &value, 1));
  Print("an output twice", editor->SetGraphOutputs(made.graph, twice, missing[0] == nullptr ? 0 : 2));
  OrtValueInfo* taken = value;
  Print("an input", editor->SetGraphInputs(made.graph, &taken, 1));
  std::printf("it is null then: %d\n", taken == nullptr ? 1 : 0);
  taken = value;
  Print("an input as an output", editor->SetGraphOutputs(made.graph, &taken, 1));
  Print("an input again", editor->SetGraphInputs(made.graph, &taken, 1));
  OrtNode* node = Node("Add", {"A", "A"}, {"C"});
  Print("a node", editor->AddNodeToGraph(made.graph, node));
  Print("a node again", editor->AddNodeToGraph(made.graph, node));
  Print("no node", editor->AddNodeToGraph(made.graph, nullptr));
  Print("a node of no graph", editor->AddNodeToGraph(nullptr, node));
  OrtModel *model = nullptr, *other = nullptr;
  const char* domain = "";
  const int version = 18;
  Print("CreateModel", editor->CreateModel(&domain, &version, 1, &model));
  Print("CreateModel of no domain", editor->CreateModel(nullptr, nullptr, 0, &other));
  Print("no graph", editor->AddGraphToModel(model, nullptr));
  Print("a graph of no model", editor->AddGraphToModel(nullptr, made.graph));
  OrtGraph* graph = std::exchange(made.graph, nullptr);
  Print("AddGraphToModel", editor->AddGraphToModel(model, graph));
  const Graph second;
  Print("a second graph", editor->AddGraphToModel(model, second.graph));
  Print("the graph in itself again", editor->AddGraphToModel(model, graph));
  api->ReleaseModel(other);
  api->ReleaseModel(model);
  api->ReleaseModel(nullptr);
  api->ReleaseGraph(nullptr);
  api->ReleaseNode(nullptr);
  api->ReleaseValueInfo(nullptr);
}

void WrongWeights() {
  Graph made;
  OrtValue* value = Counted({2});
  float few[31] = {}, just[32] = {};
  OrtValue* small = Floats(few, {31});
  OrtValue* enough = Floats(just, {32});
  Print("a weight without a name", editor->AddInitializerToGraph(made.graph, "", value, false));
  Print("a weight without any name", editor->AddInitializerToGraph(made.graph, nullptr, value, false));
  Print("no weight", editor->AddInitializerToGraph(made.graph, "W", nullptr, false));
  Print("a weight of no graph", editor->AddInitializerToGraph(nullptr, "W", value, false));
  Print("an external weight of 124 bytes", editor->AddInitializerToGraph(made.graph, "S", small, true));
  Print("an external weight of 128 bytes", editor->AddInitializerToGraph(made.graph, "E", enough, true));
  Print("a weight", editor->AddInitializerToGraph(made.graph, "W", value, false));
  Print("a weight of another name", editor->AddInitializerToGraph(made.graph, "V", value, false));
  Print("another weight of the name", editor->AddInitializerToGraph(made.graph, "W", small, false));
  Print("another weight of an external's name", editor->AddInitializerToGraph(made.graph, "E", small, false));
  OrtValue* both[] = {small, small};
  OrtValue* sequence = nullptr;
  Must(api->CreateValue(both, 2, ONNX_TYPE_SEQUENCE, &sequence));
  Print("a sequence as weight", editor->AddInitializerToGraph(made.graph, "L", sequence, false));
  api->ReleaseValue(sequence);
  api->ReleaseValue(small);
}

/// Z = 2 * X * W, whose weight is 4 by 8.
Graph& Gemm(Graph& graph, OrtValue* weight, bool external) {
  graph.Inputs({ValueInfo("X", kFloat, {{0, "rows"}, {4}})}).Outputs({ValueInfo("Z", kFloat, {{0, "rows"}, {8}})});
  return graph.Add(Node("Gemm", {"X", "W"}, {"Z"}, {FloatAttribute("alpha", 2)}, "", "gemm")).Weight("W", weight, external);
}

void Sessions() {
  Graph inside;
  const Made plain("a made model", Gemm(inside, Counted({4, 8}), false).Model());
  RunCounted("its run", plain.session, "X", {1, 4}, "Z");
  OrtTypeInfo* type = nullptr;
  Must(api->SessionGetInputTypeInfo(plain.session, 0, &type));
  PrintType("its input", type);
  api->ReleaseTypeInfo(type);
  OrtModelMetadata* metadata = nullptr;
  Must(api->SessionGetModelMetadata(plain.session, &metadata));
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  char* text = nullptr;
  Must(api->ModelMetadataGetGraphName(metadata, allocator, &text));
  std::printf("its graph's name: %s\n", text);
  Must(api->AllocatorFree(allocator, text));
  Must(api->ModelMetadataGetProducerName(metadata, allocator, &text));
  std::printf("its maker: %s\n", text);
  Must(api->AllocatorFree(allocator, text));
  int64_t version = 0;
  Must(api->ModelMetadataGetVersion(metadata, &version));
  std::printf("its version: %lld\n", static_cast<long long>(version));
  api->ReleaseModelMetadata(metadata);

  std::vector<float> weight(32);
  std::iota(weight.begin(), weight.end(), 1.0F);
  Graph outside;
  OrtModel* model = Gemm(outside, Floats(weight.data(), {4, 8}), true).Model({"ai.onnx"});
  const Made first("a made model with an external weight", model, true);
  RunCounted("its external run", first.session, "X", {1, 4}, "Z");
  {
    const Made again("a second session of it", model);
    RunCounted("its second run", again.session, "X", {2, 4}, "Z");
  }
  RunCounted("its external run without the model", first.session, "X", {1, 4}, "Z");

  Graph copied;
  model = Gemm(copied, Floats(weight.data(), {4, 8}), false).Model();
  const Made own("a made model with a weight of the program's", model);
  weight.assign(32, 0);
  RunCounted("its run when that is gone", own.session, "X", {1, 4}, "Z");
}

/// Y = op(X) of floats, with nodes as given.
Graph& Chain(Graph& graph, const std::vector<OrtNode*>& nodes) {
  graph.Inputs({ValueInfo("X", kFloat, {{3}})}).Outputs({ValueInfo("Y", kFloat, {{3}})});
  for (OrtNode* node : nodes) graph.Add(node);
  return graph;
}

/// Whether a session is made of such a chain.
void TryChain(const char* call, const std::vector<OrtNode*>& nodes, const std::vector<const char*>& domains = {""},
              const std::vector<int>& versions = {18}) {
  Graph graph;
  const Made made(call, Chain(graph, nodes).Model(domains, versions));
}

/// Whether a session is made of Y = -X, declared as given.
void TryNeg(const char* call, OrtValueInfo* x, OrtValueInfo* y) {
  Graph graph;
  graph.Inputs({x}).Outputs({y});
  const Made made(call, graph.Add(Node("Neg", {"X"}, {"Y"})).Model());
}

void Constants() {
  Graph graph;
  const Made constant(
      "a made model with a constant",
      Chain(graph, {Node("Constant", {}, {"c"}, {FloatAttribute("value_float", 5)}), Node("Add", {"X", "c"}, {"Y"})})
          .Model());
  RunCounted("its sum with the constant", constant.session, "X", {3}, "Y");
  TryChain("a constant of a number as value",
           {Node("Constant", {}, {"c"}, {FloatAttribute("value", 5)}), Node("Add", {"X", "c"}, {"Y"})});
}

void Edges() {
  Graph graph;
  const Made backwards("nodes the wrong way round",
                       Chain(graph, {Node("Neg", {"t"}, {"Y"}), Node("Abs", {"X"}, {"t"})}).Model());
  RunCounted("their run", backwards.session, "X", {3}, "Y");
  TryChain("an input that nobody makes", {Node("Neg", {"nowhere"}, {"Y"})});
  TryChain("an output of two nodes", {Node("Neg", {"X"}, {"Y"}), Node("Abs", {"X"}, {"Y"})});
  TryChain("a cycle", {Node("Add", {"X", "Y"}, {"t"}), Node("Neg", {"t"}, {"Y"})});
  TryChain("a node that nobody reads", {Node("Neg", {"X"}, {"Y"}), Node("Abs", {"X"}, {"t"})});
  TryChain("an output that nobody makes", {Node("Neg", {"X"}, {"t"})});
  TryChain("a graph without nodes", {});
  Graph empty;
  const Made none("an empty graph", empty.Model());
}

void OperatorsAndImports() {
  TryChain("an operator that is not there", {Node("Nonsense", {"X"}, {"Y"})});
  TryChain("a domain that is not imported", {Node("Neg", {"X"}, {"Y"}, {}, "no.domain")});
  TryChain("an operator of com.microsoft, not imported", {Node("Gelu", {"X"}, {"Y"}, {}, "com.microsoft")});
  TryChain("no import", {Node("Neg", {"X"}, {"Y"})}, {}, {});
  TryChain("no import of ONNX", {Node("Neg", {"X"}, {"Y"})}, {"com.microsoft"}, {1});
  TryChain("an opset of the future", {Node("Neg", {"X"}, {"Y"})}, {""}, {1000});
  TryChain("opset 0", {Node("Neg", {"X"}, {"Y"})}, {""}, {0});
}

void DeclaredTypes() {
  TryNeg("an output of another type", ValueInfo("X", kFloat, {{3}}), ValueInfo("Y", kInt64, {{3}}));
  TryNeg("an output of another shape", ValueInfo("X", kFloat, {{3}}), ValueInfo("Y", kFloat, {{4}}));
  TryNeg("absurd dimensions", ValueInfo("X", kFloat, {{INT64_MAX}, {INT64_MAX}}), ValueInfo("Y", kFloat, {{-1}}));
  TryNeg("an input of no type", ValueInfo("X", kNoType, {{3}}), ValueInfo("Y", kFloat, {{3}}));
}

void SharedNames() {
  Graph shadowed;
  Chain(shadowed, {Node("Add", {"X", "X"}, {"Y"})}).Weight("X", Counted({3}));
  const Made overridable("a weight of an input's name", shadowed.Model());
  size_t count = 7;
  if (overridable.session != nullptr) {
    PrintValue("the inputs beside it", api->SessionGetInputCount(overridable.session, &count), count);
    PrintValue("the overridable ones with it", api->SessionGetOverridableInitializerCount(overridable.session, &count),
               count);
  }
  Graph output_weight;
  Chain(output_weight, {}).Weight("Y", Counted({3}));
  const Made weight_out("a weight as output", output_weight.Model());
  RunCounted("its run of the weight", weight_out.session, "X", {3}, "Y");
  Graph double_input;
  double_input.Inputs({ValueInfo("X", kFloat, {{3}}), ValueInfo("X", kFloat, {{3}})})
      .Outputs({ValueInfo("Y", kFloat, {{3}})});
  const Made same_names("two inputs of a name", double_input.Add(Node("Neg", {"X"}, {"Y"})).Model());
}

void Attributes() {
  TryChain("an attribute twice",
           {Node("LeakyRelu", {"X"}, {"Y"}, {FloatAttribute("alpha", 2), FloatAttribute("alpha", 3)})});
  TryChain("an attribute of another type", {Node("LeakyRelu", {"X"}, {"Y"}, {IntAttribute("alpha", 2)})});
}

/// A model to which no graph is added can be released.
void ModelWithoutGraph() {
  OrtModel* model = nullptr;
  const char* domain = "";
  const int version = 18;
  Must(editor->CreateModel(&domain, &version, 1, &model));
  api->ReleaseModel(model);
}

/// The number of tensors in a sequence, where inputs can be sequences.
void Sequences() {
  OrtTypeInfo *element = TensorType(kFloat, {{3}}), *type = nullptr;
  Must(editor->CreateSequenceTypeInfo(element, &type));
  api->ReleaseTypeInfo(element);
  OrtValueInfo* input = nullptr;
  OrtStatus* status = editor->CreateValueInfo("S", type, &input);
  api->ReleaseTypeInfo(type);
  if (status != nullptr) return api->ReleaseStatus(status);
  Graph graph;
  graph.Inputs({input}).Outputs({ValueInfo("N", kInt64, {})}).Add(Node("SequenceLength", {"S"}, {"N"}));
  const Made made("a made model of a sequence", graph.Model());
}

/// The texts "a", "b", "c" become the output.
void Texts() {
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  const int64_t shape[] = {3};
  OrtValue* texts = nullptr;
  Must(api->CreateTensorAsOrtValue(allocator, shape, 1, kString, &texts));
  const char* words[] = {"a", "b", "c"};
  Must(api->FillStringTensor(texts, words, 3));
  Graph graph;
  graph.Inputs({ValueInfo("X", kInt64, {{1}})}).Outputs({ValueInfo("Y", kString, {{1}})});
  const Made made("a weight of texts", graph.Weight("W", texts).Add(Node("Gather", {"W", "X"}, {"Y"})).Model());
}

/// The optimized form of a made model, loaded again.
void Written() {
  const std::string path = (std::filesystem::temp_directory_path() / "made.onnx").string();
  Graph graph;
  {
    const Made made("a made model that is written", Gemm(graph, Counted({4, 8}), false).Model(), false, path.c_str());
  }
  OrtSession* session = nullptr;
  Print("it is loaded again", api->CreateSession(env, path.c_str(), nullptr, &session));
  RunCounted("its run then", session, "X", {1, 4}, "Z");
  api->ReleaseSession(session);
  std::filesystem::remove(path);
}

/// If with two graphs in its attributes: how far the interface goes.
void Nested() {
  OrtOpAttr* attribute = nullptr;
  Graph inner;
  Print("an attribute that is a graph", api->CreateOpAttr("then_branch", inner.graph, 1, ORT_OP_ATTR_GRAPH, &attribute));
  api->ReleaseOpAttr(std::exchange(attribute, nullptr));
  OrtValue* value = Counted({3});
  Print("an attribute that is a tensor", api->CreateOpAttr("value", value, 1, ORT_OP_ATTR_TENSOR, &attribute));
  api->ReleaseOpAttr(attribute);
  api->ReleaseValue(value);
  OrtNode* node = nullptr;
  OrtOpAttr* none = nullptr;
  Print("a node with an attribute that is null",
        editor->CreateNode("Neg", "", "n", nullptr, 0, nullptr, 0, &none, 1, &node));
  api->ReleaseNode(node);
}

}  // namespace

void ModelCalls() {
  editor = api->GetModelEditorApi();
  Types();
  ReadValueInfo();
  ReadNode();
  ReadGraph();
  WrongParts();
  WrongWeights();
  Sessions();
  Constants();
  Edges();
  OperatorsAndImports();
  DeclaredTypes();
  SharedNames();
  Attributes();
  ModelWithoutGraph();
  Sequences();
  Texts();
  Written();
  Nested();
}
