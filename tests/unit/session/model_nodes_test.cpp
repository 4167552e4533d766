// What reports say of the model's own nodes, whatever passes and providers made of them.

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "attributes.h"
#include "model_builder.h"
#include "providers_here.h"
#include "temporary_folder.h"
#include "tessera/session.h"
#include "toy_provider.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::Float;
using ::testing::HasSubstr;
using testing::Int;
using testing::Ints;
using testing::IsCompiledIn;
using testing::ModelBuilder;
using testing::OnProvider;
using Fate = PlacementReport::Fate;

std::vector<float> Numbers(size_t count) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i % 7) * 0.25f + 0.5f;
  return numbers;
}

/// Three times Conv, BatchNormalization, Relu on 16 channels, of which the nodes of the second have no names.
ModelBuilder Backbone() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 16, 24, 24}).Output("y", ElementType::kFloat, {1, 16, 24, 24});
  model.Floats("w", {16, 16, 3, 3}, Numbers(16 * 16 * 9));
  for (const char* name : {"scale", "shift", "mean", "variance"}) model.Floats(name, {16}, Numbers(16));
  std::string from = "x";
  for (const std::string block : {"a", "b", "c"}) {
    const auto name = [&](const std::string& what) { return block == "b" ? "" : what + "_" + block; };
    const std::string to = block == "c" ? "y" : block;
    Ints(model.Node("Conv", {from, "w"}, {block + "_conv"}, name("conv")), "pads", {1, 1, 1, 1});
    model.Node("BatchNormalization", {block + "_conv", "scale", "shift", "mean", "variance"}, {block + "_bn"}, name("bn"));
    model.Node("Relu", {block + "_bn"}, {to}, name("relu"));
    from = to;
  }
  return model;
}

/// Heads of attention with a shape that is computed, which folds, and an Identity.
ModelBuilder Attention() {
  ModelBuilder model;
  model.Input("q", ElementType::kFloat, {2, 4, 8, 16})
      .Input("k", ElementType::kFloat, {2, 4, 8, 16})
      .Input("v", ElementType::kFloat, {2, 4, 8, 16})
      .Output("y", ElementType::kFloat, {2, 8, 64});
  model.Floats("root", {}, {4}).Ints("tail", {8, 64}).Ints("first", {0}).Ints("second", {1});
  Ints(model.Node("Transpose", {"k"}, {"kt"}, "transpose_k"), "perm", {0, 1, 3, 2});
  model.Node("MatMul", {"q", "kt"}, {"scores"}, "scores");
  model.Node("Div", {"scores", "root"}, {"scaled"}, "scale");
  Int(model.Node("Softmax", {"scaled"}, {"weights"}, "softmax"), "axis", -1);
  model.Node("Identity", {"weights"}, {"dropped"}, "dropout");
  model.Node("MatMul", {"dropped", "v"}, {"heads"}, "context");
  Ints(model.Node("Transpose", {"heads"}, {"rows"}, "transpose_heads"), "perm", {0, 2, 1, 3});
  model.Node("Shape", {"q"}, {"shape"}, "shape");
  model.Node("Slice", {"shape", "first", "second"}, {"batch"}, "slice");
  Int(model.Node("Concat", {"batch", "tail"}, {"to"}, "concat"), "axis", 0);
  model.Node("Reshape", {"rows", "to"}, {"y"}, "merge");
  return model;
}

/// A convolution of quantized values, as quantizers write it.
ModelBuilder Quantized() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 8, 12, 12}).Output("y", ElementType::kFloat, {1, 8, 12, 12});
  model.Floats("scale", {}, {0.1f})
      .Quantized("zero", ElementType::kUInt8, {}, {128})
      .Quantized("none", ElementType::kInt8, {}, {0});
  std::vector<int> weights(8 * 8 * 9);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<int>(i % 11) - 5;
  model.Quantized("w", ElementType::kInt8, {8, 8, 3, 3}, weights);
  model.Node("QuantizeLinear", {"x", "scale", "zero"}, {"xq"}, "quantize");
  model.Node("DequantizeLinear", {"xq", "scale", "zero"}, {"xd"}, "dequantize");
  model.Node("DequantizeLinear", {"w", "scale", "none"}, {"wd"}, "weights");
  Ints(model.Node("Conv", {"xd", "wd"}, {"c"}, "conv"), "pads", {1, 1, 1, 1});
  model.Node("Relu", {"c"}, {"r"}, "relu");
  model.Node("QuantizeLinear", {"r", "scale", "zero"}, {"rq"}, "requantize");
  model.Node("DequantizeLinear", {"rq", "scale", "zero"}, {"y"}, "last");
  return model;
}

const PlacementReport::ModelNode& Find(const PlacementReport& report, std::string_view label) {
  const auto found = std::ranges::find_if(report.model_nodes, [&](const auto& node) { return node.Label() == label; });
  if (found == report.model_nodes.end()) throw std::out_of_range(std::string(label));
  return *found;
}

/// What holds of every report: each node of the model is there in the file's order, and says who runs it or why nobody
/// does; what runs and what it computes name each other; compiled subgraphs are told apart by their names.
void CheckReport(const PlacementReport& report, const ModelBuilder& model) {
  const auto& nodes = const_cast<ModelBuilder&>(model).proto().graph().node();
  ASSERT_EQ(report.model_nodes.size(), static_cast<size_t>(nodes.size()));
  size_t run = 0, counted = 0;
  for (size_t i = 0; i < report.model_nodes.size(); ++i) {
    const PlacementReport::ModelNode& node = report.model_nodes[i];
    SCOPED_TRACE(node.Label());
    EXPECT_EQ(node.name, nodes[static_cast<int>(i)].name());
    EXPECT_EQ(node.op_type, nodes[static_cast<int>(i)].op_type());
    EXPECT_EQ(node.output, nodes[static_cast<int>(i)].output(0));
    const bool runs = node.fate == Fate::kRuns || node.fate == Fate::kFused;
    EXPECT_EQ(node.provider.empty(), !runs);
    EXPECT_EQ(node.runs_in.empty(), !runs);
    EXPECT_EQ(node.pass.empty(), node.fate == Fate::kRuns);
    run += runs ? 1 : 0;
    for (const size_t in : node.runs_in) {
      const auto& of = report.nodes.at(in).model_nodes;
      EXPECT_NE(std::ranges::find(of, i), of.end());
    }
  }
  for (const auto& provider : report.providers) counted += provider.model_nodes;
  EXPECT_EQ(counted, run);
  for (const auto& node : report.nodes) EXPECT_FALSE(node.model_nodes.empty()) << node.op_type;
}

class ModelNodes : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!IsCompiledIn(GetParam())) GTEST_SKIP() << "not compiled in";
    try {
      testing::AddModel().Session(OnProvider(GetParam()));
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

TEST_P(ModelNodes, OfAConvolutionalNetwork) {
  const ModelBuilder model = Backbone();
  const Session session = model.Session(OnProvider(GetParam()));
  const PlacementReport& report = session.placement();
  CheckReport(report, model);
  for (const char* block : {"a", "c"}) {
    const std::string suffix = std::string("_") + block + "'";
    EXPECT_EQ(Find(report, "Conv 'conv" + suffix).fate, Fate::kRuns);
    const auto& normalization = Find(report, "BatchNormalization 'bn" + suffix);
    EXPECT_EQ(normalization.fate, Fate::kFused) << report.ToText();
    EXPECT_EQ(normalization.pass, "fold_scales");
    EXPECT_EQ(report.model_nodes[normalization.fused_into].Label(), "Conv 'conv" + suffix);
    // In the convolution's kernel on each provider, in one way or another.
    const auto &convolution = Find(report, "Conv 'conv" + suffix), &relu = Find(report, "Relu 'relu" + suffix);
    EXPECT_EQ(relu.provider, convolution.provider);
  }
  EXPECT_EQ(Find(report, "Conv -> 'b_conv'").fate, Fate::kRuns);
  EXPECT_EQ(Find(report, "BatchNormalization -> 'b_bn'").fate, Fate::kFused);
  EXPECT_NE(Find(report, "Relu -> 'b'").provider, "");
}

TEST_P(ModelNodes, OfAttention) {
  const ModelBuilder model = Attention();
  const Session session = model.Session(OnProvider(GetParam()));
  const PlacementReport& report = session.placement();
  CheckReport(report, model);
  for (const char* folded : {"Shape 'shape'", "Slice 'slice'", "Concat 'concat'"}) {
    EXPECT_EQ(Find(report, folded).fate, Fate::kFolded) << folded << "\n" << report.ToText();
  }
  EXPECT_EQ(Find(report, "Identity 'dropout'").fate, Fate::kRemoved) << report.ToText();
  EXPECT_EQ(Find(report, "Identity 'dropout'").pass, "eliminate_identities");
  EXPECT_NE(Find(report, "Softmax 'softmax'").provider, "");
}

TEST_P(ModelNodes, OfAQuantizedConvolution) {
  const ModelBuilder model = Quantized();
  const Session session = model.Session(OnProvider(GetParam()));
  CheckReport(session.placement(), model);
  EXPECT_NE(Find(session.placement(), "Conv 'conv'").provider, "") << session.placement().ToText();
  EXPECT_NE(Find(session.placement(), "Relu 'relu'").provider, "") << session.placement().ToText();
}

TEST_P(ModelNodes, AreTheSameAtEachLevel) {
  for (const auto level : {OptimizationLevel::kNone, OptimizationLevel::kBasic, OptimizationLevel::kExtended}) {
    for (const ModelBuilder& model : {Backbone(), Attention(), Quantized()}) {
      SessionOptions options = OnProvider(GetParam());
      options.optimization_level = level;
      CheckReport(model.Session(options).placement(), model);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(On, ModelNodes, ::testing::Values("cpu", "dnnl", "opencl"),
                         [](const auto& info) { return info.param; });

TEST(ModelNodesOf, CpuLayoutsSayWhatWentIntoAConvolution) {
  const Session session = Backbone().Session(OnProvider("cpu"));
  const PlacementReport& report = session.placement();
  for (const char* relu : {"Relu 'relu_a'", "Relu -> 'b'", "Relu 'relu_c'"}) {
    const auto& node = Find(report, relu);
    EXPECT_EQ(node.fate, Fate::kFused) << report.ToText();
    EXPECT_EQ(report.model_nodes[node.fused_into].op_type, "Conv") << report.ToText();
  }
  const std::string text = report.ToText();
  EXPECT_THAT(text, HasSubstr("  BatchNormalization 'bn_a' (version 15): CPUExecutionProvider, fused into Conv 'conv_a' by "
                              "fold_scales\n"));
  EXPECT_THAT(text, HasSubstr("  inserted: ai.tessera.ToNchw8c -> "));
}

TEST(ModelNodesOf, RefusalsAreAboutTheNodeThatTheModelHas) {
  SessionOptions options = testing::OnToy({{"ops", "Neg"}});
  const Session session = Backbone().Session(options);
  for (const auto& node : session.placement().model_nodes) {
    if (node.op_type == "BatchNormalization") continue;  // it was folded before anybody was asked
    ASSERT_EQ(node.refusals.size(), 1u) << node.Label();
    EXPECT_EQ(node.refusals[0].first, "ToyExecutionProvider");
    EXPECT_EQ(node.refusals[0].second, "not among the ops");
  }
}

TEST(ModelNodesOf, SubgraphsThatAProviderCompilesHaveNamesOfTheirOwn) {
  if (!IsCompiledIn("opencl")) GTEST_SKIP() << "not compiled in";
  PlacementReport report;
  try {
    report = Backbone().Session(OnProvider("opencl")).placement();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  std::set<std::string> names;
  size_t convolutions = 0;
  for (const auto& node : report.nodes) {
    if (node.op_type != "Conv") continue;
    ++convolutions;
    names.insert(node.fused_into);
  }
  EXPECT_EQ(convolutions, 3u);
  EXPECT_EQ(names.size(), convolutions) << report.ToText();
}

/// In a nested graph, too, and where a branch is chosen at load.
// A node goes by a name that the model has: not by that of an output that it leaves out.
TEST(ModelNodesOf, OutputsThatAreLeftOut) {
  ModelBuilder model(13);
  model.Input("x", ElementType::kFloat, {2}).Output("mask", ElementType::kBool, {2});
  model.Node("Dropout", {"x"}, {"", "mask"});
  SessionOptions options;
  options.optimization_level = OptimizationLevel::kNone;
  const Session session = model.Session(options);
  ASSERT_EQ(session.placement().model_nodes.size(), 1u);
  EXPECT_EQ(session.placement().model_nodes[0].Label(), "Dropout -> 'mask'");
}

TEST(ModelNodesOf, NestedGraphs) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Input("yes", ElementType::kBool, {}).Output("y", ElementType::kFloat, {2});
  auto& branch = model.Node("If", {"yes"}, {"y"}, "if");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = branch.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    auto& graph = *attribute->mutable_g();
    graph.set_name(name);
    ModelBuilder::AddNode(graph, "Add", {"x", "x"}, {std::string("a_") + name}, "add");
    ModelBuilder::AddNode(graph, "Identity", {std::string("a_") + name}, {std::string("b_") + name}, "same");
    ModelBuilder::Declare(graph.add_output(), std::string("b_") + name, ElementType::kFloat, {2});
  }
  const auto labels = [](const PlacementReport& report) {
    std::vector<std::string> found;
    for (const auto& node : report.model_nodes) found.push_back(node.graph + node.Label());
    return found;
  };
  const std::string of_then = "If 'if'.then_branch/", of_else = "If 'if'.else_branch/";
  const Session session = model.Session(OnProvider("cpu"));
  EXPECT_THAT(labels(session.placement()), ElementsAre("If 'if'", of_then + "Add 'add'", of_then + "Identity 'same'",
                                                       of_else + "Add 'add'", of_else + "Identity 'same'"));
  for (const auto& node : session.placement().model_nodes) EXPECT_NE(node.provider.empty(), node.op_type != "Identity");

  model.Quantized("chosen", ElementType::kBool, {}, {1});
  model.proto().mutable_graph()->mutable_input()->RemoveLast();
  *branch.mutable_input(0) = "chosen";
  const Session inlined = model.Session(OnProvider("cpu"));
  ASSERT_EQ(inlined.placement().model_nodes.size(), 5u) << inlined.placement().ToText();
  EXPECT_EQ(inlined.placement().model_nodes[1].fate, Fate::kRuns) << inlined.placement().ToText();
  EXPECT_EQ(inlined.placement().model_nodes[3].fate, Fate::kRemoved) << inlined.placement().ToText();
}

}  // namespace
}  // namespace tessera
