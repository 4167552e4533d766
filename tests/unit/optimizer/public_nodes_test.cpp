// What rewrites leave of ONNX's operators is what ONNX says of them, whatever a session fuses, rounds or times.

#include <gtest/gtest.h>

#include <limits>

#include "attributes.h"
#include "graph/check_graph.h"
#include "graph/private_names.h"
#include "lowering/lower_graph.h"
#include "model/model.h"
#include "model_builder.h"
#include "optimizer/optimizer.h"
#include "providers_here.h"
#include "session/session_state.h"

namespace tessera::testing {
namespace {

ModelBuilder ConvNet() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 3, 20, 20}).Output("y", ElementType::kFloat, {1, 5, 20, 20});
  model.Floats("w1", {16, 3, 3, 3}, std::vector<float>(16 * 27, 0.1f));
  model.Floats("w2", {5, 16, 1, 1}, std::vector<float>(80, -0.1f));
  Ints(model.Node("Conv", {"x", "w1"}, {"c1"}), "pads", {1, 1, 1, 1});
  model.Node("Relu", {"c1"}, {"r1"});
  model.Node("Conv", {"r1", "w2"}, {"c2"});
  model.Node("LeakyRelu", {"c2"}, {"y"});
  return model;
}

/// Softmax(Q K + mask) V, where the mask holds minus infinity and the batch of V is broadcast.
ModelBuilder Scores() {
  ModelBuilder model;
  model.Input("q", ElementType::kFloat, {2, 4, 8, 16}).Input("k", ElementType::kFloat, {2, 4, 16, 8});
  model.Input("v", ElementType::kFloat, {1, 4, 8, 16}).Input("hidden", ElementType::kBool, {1, 1, 8, 8});
  model.Output("y", ElementType::kFloat, {2, 4, 8, 16});
  model.Floats("nothing", {}, std::vector<float>{-std::numeric_limits<float>::infinity()});
  model.Node("MatMul", {"q", "k"}, {"scores"});
  model.Node("Where", {"hidden", "nothing", "scores"}, {"masked"});
  Int(model.Node("Softmax", {"masked"}, {"weights"}), "axis", -1);
  model.Node("MatMul", {"weights", "v"}, {"y"});
  return model;
}

/// Softmax(Q K + mask) V of a mask that may hold anything.
ModelBuilder AddedMask() {
  ModelBuilder model;
  model.Input("q", ElementType::kFloat, {2, 4, 8, 16}).Input("k", ElementType::kFloat, {2, 4, 16, 8});
  model.Input("v", ElementType::kFloat, {2, 4, 8, 16}).Input("mask", ElementType::kFloat, {2, 1, 1, 8});
  model.Output("y", ElementType::kFloat, {2, 4, 8, 16});
  model.Node("MatMul", {"q", "k"}, {"scores"});
  model.Node("Add", {"scores", "mask"}, {"masked"});
  Int(model.Node("Softmax", {"masked"}, {"weights"}), "axis", -1);
  model.Node("MatMul", {"weights", "v"}, {"y"});
  return model;
}

ModelBuilder MatMuls() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {4, 64}).Output("y", ElementType::kFloat, {4, 64});
  model.Floats("w", {64, 64}, std::vector<float>(64 * 64, 0.25f));
  model.Floats("b", {64}, std::vector<float>(64, 1));
  model.Node("MatMul", {"x", "w"}, {"p"});
  model.Node("Add", {"p", "b"}, {"s"});
  model.Node("Relu", {"s"}, {"r"});
  model.Node("MatMul", {"r", "w"}, {"y"});
  return model;
}

void ExpectNothingBeyondSchemas(const SessionOptions& options) {
  for (const ModelBuilder& model : {ConvNet(), Scores(), AddedMask(), MatMuls()}) {
    EXPECT_EQ(FindBeyondSchemas(*model.Session(options).state()->model->graph), "") << model.bytes().size();
  }
}

TEST(PublicNodes, MeanWhatTheirSchemasSayOnEveryProvider) {
  for (const char* provider : {"cpu", "dnnl", "opencl"}) {
    if (IsCompiledIn(provider)) ExpectNothingBeyondSchemas(OnProvider(provider));
  }
}

TEST(PublicNodes, MeanWhatTheirSchemasSayAtLessPrecision) {
  for (const char* precision : {"bf16", "bf16-weights", "int8-dynamic"}) {
    SessionOptions options;
    options.providers = {{"cpu", {}}};
    options.config["session.precision"] = precision;
    options.intra_op_threads = 1;
    ExpectNothingBeyondSchemas(options);
  }
}

/// What the portable passes make anybody may be asked for, and may read in a model that is written.
TEST(PublicNodes, AreAllThatPortablePassesMakeOfAttention) {
  for (const bool writable : {false, true}) {
    for (const ModelBuilder& model : {Scores(), AddedMask()}) {
      const Session session = MatMuls().Session(SessionOptions());
      const SessionResources& resources = session.state()->model->resources;
      const std::string bytes = model.bytes();
      const Model loaded = LoadModel(std::as_bytes(std::span(bytes)), nullptr, {});
      Graph& graph = *loaded.graph;
      CanonicalizeGraph(graph, resources, {.writable = writable});
      OptimizationReport report = OptimizeGraph(graph, resources, {.writable = writable});
      for (const NodeIndex index : graph.TopologicalOrder())
        EXPECT_FALSE(IsPrivateDomain(graph.node(index).domain)) << graph.node(index).op_type;
      if (writable) continue;
      LowerGraph(graph, resources, {}, report);
      EXPECT_EQ(FindBeyondSchemas(graph), "");
      const Node& last = graph.node(graph.TopologicalOrder().back());
      EXPECT_EQ(last.op_type, "Attention");
      EXPECT_EQ(last.domain, kTesseraDomain);
    }
  }
}

TEST(PublicNodes, AreNamedWhereTheyHaveMore) {
  ModelBuilder model = MatMuls();
  const auto session = model.Session(SessionOptions());
  Graph& graph = *session.state()->model->graph;
  for (const NodeIndex index : graph.TopologicalOrder()) graph.node(index).domain.clear();
  Node more;
  more.op_type = "Relu";
  more.since_version = 14;
  more.inputs = {graph.inputs()[0]};
  more.outputs = {graph.AddValue("more", graph.value(graph.inputs()[0]).type)};
  more.attributes.push_back({"alpha", 1.0f});
  graph.AddNode(std::move(more));
  EXPECT_NE(FindBeyondSchemas(graph), "");
}

}  // namespace
}  // namespace tessera::testing
