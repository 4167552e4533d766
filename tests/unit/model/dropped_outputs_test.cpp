// Results that have no name are not computed, but counted: the parts of a Split, and what If, Loop and Scan have of their
// nested graphs.

#include <gmock/gmock.h>

#include "attributes.h"
#include "model/loading.h"
#include "temporary_folder.h"

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;

onnx::GraphProto& Nested(onnx::NodeProto& node, const char* attribute) {
  auto* graph = node.add_attribute();
  graph->set_name(attribute);
  graph->set_type(onnx::AttributeProto::GRAPH);
  graph->mutable_g()->set_name(attribute);
  return *graph->mutable_g();
}

void AddResult(onnx::GraphProto& graph, const char* op, const std::vector<std::string>& inputs, const char* output) {
  ModelBuilder::AddNode(graph, op, inputs, {output});
  ModelBuilder::Declare(graph.add_output(), output, ElementType::kFloat, {2});
}

ModelBuilder Branches() {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {2}).Input("c", ElementType::kBool, {}).Output("y", ElementType::kFloat, {2});
  auto& node = model.Node("If", {"c"}, {"y", "", ""});
  auto& then = Nested(node, "then_branch");
  auto& other = Nested(node, "else_branch");
  for (const char* output : {"a", "b", "d"}) {
    AddResult(then, "Neg", {"x"}, output);
    AddResult(other, "Abs", {"x"}, output);
  }
  return model;
}

ModelBuilder Iterations() {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {2}).Input("c", ElementType::kBool, {}).Output("y", ElementType::kFloat, {2});
  const std::vector<int64_t> trips = {3};
  model.Constant("trips", {}, trips);
  auto& body = Nested(model.Node("Loop", {"trips", "c", "x", "x"}, {"y", "", "", ""}), "body");
  ModelBuilder::Declare(body.add_input(), "i", ElementType::kInt64, {});
  ModelBuilder::Declare(body.add_input(), "go", ElementType::kBool, {});
  for (const char* state : {"s", "t"}) ModelBuilder::Declare(body.add_input(), state, ElementType::kFloat, {2});
  ModelBuilder::AddNode(body, "Identity", {"go"}, {"go_on"});
  ModelBuilder::Declare(body.add_output(), "go_on", ElementType::kBool, {});
  AddResult(body, "Add", {"s", "x"}, "s_out");
  AddResult(body, "Mul", {"t", "x"}, "t_out");
  AddResult(body, "Neg", {"s"}, "rows");
  AddResult(body, "Neg", {"t"}, "more_rows");
  return model;
}

ModelBuilder Scanned() {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {2}).Input("c", ElementType::kBool, {}).Output("y", ElementType::kFloat, {2});
  model.Floats("rows", {2, 2}, {1, 2, 3, 4});
  auto& node = model.Node("Scan", {"x", "rows"}, {"y", "", ""});
  Int(node, "num_scan_inputs", 1);
  auto& body = Nested(node, "body");
  for (const char* input : {"s", "row"}) ModelBuilder::Declare(body.add_input(), input, ElementType::kFloat, {2});
  AddResult(body, "Add", {"s", "row"}, "s_out");
  AddResult(body, "Mul", {"s", "row"}, "a");
  AddResult(body, "Sub", {"s", "row"}, "b");
  return model;
}

ModelBuilder Parts() {
  ModelBuilder model(18);
  model.Input("x", ElementType::kFloat, {2}).Input("c", ElementType::kBool, {}).Output("y", ElementType::kFloat, {2});
  model.Node("Concat", {"x", "x", "x"}, {"all"});
  Int(*model.proto().mutable_graph()->mutable_node(0), "axis", 0);
  model.Node("Mul", {"all", "all"}, {"squares"});
  Int(model.Node("Split", {"squares"}, {"y", "", ""}), "num_outputs", 3);
  return model;
}

std::vector<float> RunAll(const Session& session, bool condition) {
  const std::vector<std::string> names = {"x", "c"};
  std::vector<Value> inputs = {Floats({2}, {1, -2}), Tensor::Of<bool>(Shape{}, std::span(&condition, 1))};
  return ToVector(session.Run(names, inputs).at(0));
}

TEST(DroppedOutputs, CountAlsoInWrittenModels) {
  const std::pair<ModelBuilder (*)(), std::vector<float>> cases[] = {
      {Branches, {-1, 2}}, {Iterations, {4, -8}}, {Scanned, {5, 4}}, {Parts, {1, 4}}};
  for (const auto& [make, expected] : cases) {
    for (const OptimizationLevel level : {OptimizationLevel::kNone, OptimizationLevel::kBasic, OptimizationLevel::kAll}) {
      const ModelBuilder model = make();
      SCOPED_TRACE(make().proto().graph().node(make().proto().graph().node_size() - 1).op_type());
      const TemporaryFolder folder;
      SessionOptions options = OnCpu();
      options.optimization_level = level;
      options.optimized_model_path = folder.path() / "written.onnx";
      EXPECT_EQ(RunAll(model.Session(options), true), expected);
      EXPECT_EQ(RunAll(Session(options.optimized_model_path, OnCpu()), true), expected);
    }
  }
}

}  // namespace
}  // namespace tessera::testing
