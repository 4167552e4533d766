#include <functional>
#include <utility>

#include "optimizer/float_network.h"

namespace tessera::testing {
namespace {

/// Only where this machine's vectors hold a block does the pass do anything.
bool ComputesBlocks() {
  FloatNetwork network({1, 64, 24, 24});
  const ModelBuilder model = network.Finish({network.Conv(network.Conv("x", {64, 64, 3, 1, 1}), {64, 64, 3, 1, 1})});
  return Rewriting(model, {"use_nchw8c"}).after().find("Nchw8cConv") != std::string::npos;
}

#define SKIP_WITHOUT_BLOCKS() \
  if (!ComputesBlocks()) GTEST_SKIP() << "this machine computes no blocks"

/// The shapes of all convolutions' weights, in order: "[64,3,3,3] [5,64,1,1]".
std::string WeightsOf(const Rewriting& rewriting) {
  const Graph& graph = rewriting.graph();
  std::string shapes;
  for (const NodeIndex index : graph.TopologicalOrder()) {
    const Node& node = graph.node(index);
    if (node.op_type != "Conv" || graph.constant(node.inputs[1]) == nullptr) continue;
    shapes += (shapes.empty() ? "" : " ") + graph.constant(node.inputs[1])->shape().ToString();
  }
  return shapes;
}

/// A convolution of 3 channels to `channels`, `between`, and one to 5.
ModelBuilder Chain(int64_t channels, const std::function<std::string(FloatNetwork&, std::string)>& between = {}) {
  FloatNetwork network({2, 3, 12, 10});
  std::string last = network.Conv("x", {channels, 3, 3, 1, 1});
  if (between) last = between(network, last);
  return network.Finish({network.Conv(last, {5, channels, 1})});
}

Rewriting Padded(const ModelBuilder& model) { return Rewriting(model, {"pad_channels"}); }

/// The model gets as many changes, and keeps its operators and its numbers.
void ExpectChanges(const ModelBuilder& model, size_t changes, const std::string& why = "") {
  const Rewriting rewriting = Padded(model);
  EXPECT_EQ(rewriting.report().passes[0].changes, changes) << why;
  EXPECT_EQ(rewriting.before(), rewriting.after()) << why;
  EXPECT_EQ(rewriting.Difference(1, 3, true), "") << why;
}

TEST(PadChannels, FillsTheLastBlock) {
  SKIP_WITHOUT_BLOCKS();
  for (const int64_t channels : {57, 61, 63}) {
    const Rewriting rewriting = Padded(Chain(channels));
    EXPECT_EQ(WeightsOf(rewriting), "[64,3,3,3] [5,64,1,1]");
    const Graph& graph = rewriting.graph();
    const Node& first = graph.node(graph.TopologicalOrder()[0]);
    EXPECT_EQ(graph.constant(first.inputs[2])->shape(), Shape{64});
    EXPECT_EQ((*graph.value(first.outputs[0]).type.shape)[1].value, 64);
    EXPECT_EQ(rewriting.Difference(1, 3, true), "");
  }
}

TEST(PadChannels, WithoutABias) {
  SKIP_WITHOUT_BLOCKS();
  ModelBuilder model = Chain(61);
  model.proto().mutable_graph()->mutable_node(0)->mutable_input()->RemoveLast();
  const Rewriting rewriting = Padded(model);
  EXPECT_EQ(WeightsOf(rewriting), "[64,3,3,3] [5,64,1,1]");
  EXPECT_EQ(rewriting.Difference(1, 3, true), "");
}

TEST(PadChannels, OfEachConvolution) {
  SKIP_WITHOUT_BLOCKS();
  const ModelBuilder model = Chain(61, [](FloatNetwork& n, const std::string& a) {
    return n.Conv(n.Op("Relu", {n.Conv(n.Op("Relu", {a}), {46, 61, 3, 1, 1})}), {61, 46, 1});
  });
  EXPECT_EQ(WeightsOf(Padded(model)), "[64,3,3,3] [48,64,3,3] [64,48,1,1] [5,64,1,1]");
  ExpectChanges(model, 3);
}

/// Operators that see one channel at a time and give finite numbers for zeros, which the zero weights ignore.
TEST(PadChannels, ThroughWhatKeepsChannelsApart) {
  SKIP_WITHOUT_BLOCKS();
  for (const std::string op : {"Relu", "Sigmoid", "Cos", "Exp"})
    ExpectChanges(Chain(61, [&](FloatNetwork& n, const std::string& a) { return n.Op(op, {a}); }), 1, op);
  for (const std::string op : {"MaxPool", "AveragePool"})
    ExpectChanges(Chain(61, [&](FloatNetwork& n, const std::string& a) { return n.Pool(op, a, 3, 2, 1); }), 1, op);
}

TEST(PadChannels, StopsWhereChannelsMeetOrNumbersMayBeInfinite) {
  SKIP_WITHOUT_BLOCKS();
  for (const std::string op : {"Log", "Reciprocal", "Softmax"})
    ExpectChanges(Chain(61, [&](FloatNetwork& n, const std::string& a) { return n.Op(op, {n.Op("Exp", {a})}); }), 0, op);
  const std::vector<std::pair<std::string, std::function<std::string(FloatNetwork&, std::string)>>> others = {
      {"mean", [](FloatNetwork& n, const std::string& a) { return n.Op("GlobalAveragePool", {a}); }},
      {"slopes", [](FloatNetwork& n, const std::string& a) { return n.PRelu(a, 61); }},
      {"sum", [](FloatNetwork& n, const std::string& a) { return n.Op("Add", {a, n.Conv("x", {61, 3, 3, 1, 1})}); }},
      {"square", [](FloatNetwork& n, const std::string& a) { return n.Op("Mul", {a, a}); }},
      {"groups", [](FloatNetwork& n, const std::string& a) { return n.Conv(a, {61, 61, 3, 1, 1, 61}); }}};
  for (const auto& [name, between] : others) ExpectChanges(Chain(61, between), 0, name);
}

/// All readers or none: another convolution takes the zeros, too; an output, or a mean beside it, would see them.
TEST(PadChannels, OfAllReaders) {
  SKIP_WITHOUT_BLOCKS();
  for (const std::string reader : {"convolution", "mean", "output", "output behind it"}) {
    FloatNetwork network({2, 3, 12, 10});
    const std::string a = network.Conv("x", {61, 3, 3, 1, 1}), b = network.Op("Relu", {a});
    std::vector<std::string> outputs = {network.Conv(b, {5, 61, 1})};
    if (reader == "convolution") outputs.push_back(network.Conv(a, {7, 61, 3, 1, 1}));
    if (reader == "mean") outputs.push_back(network.Op("GlobalAveragePool", {a}));
    if (reader == "output") outputs.push_back(a);
    if (reader == "output behind it") outputs.push_back(b);
    ExpectChanges(network.Finish(outputs), reader == "convolution" ? 1 : 0, reader);
  }
}

/// Where nothing reads it, or an output alone, there is nothing that could ignore channels.
TEST(PadChannels, NotOfTheLastConvolution) {
  SKIP_WITHOUT_BLOCKS();
  for (const bool output : {false, true}) {
    FloatNetwork network({2, 3, 12, 10});
    const std::string a = network.Conv("x", {61, 3, 3, 1, 1});
    ExpectChanges(network.Finish({output ? a : network.Op("Relu", {"x"})}), 0);
  }
}

/// Whole blocks, more channels than are worth it, and the most that are.
TEST(PadChannels, OfCountsThatArePaidFor) {
  SKIP_WITHOUT_BLOCKS();
  for (const auto& [channels, pads] : {std::pair{64, false}, {60, true}, {20, false}, {15, true}, {14, true}, {13, false}})
    ExpectChanges(Chain(channels), pads ? 1 : 0, std::to_string(channels));
}

/// Groups, and weights or biases that only the run knows.
TEST(PadChannels, OnlyPlainConvolutions) {
  SKIP_WITHOUT_BLOCKS();
  FloatNetwork grouped({2, 61, 12, 10});
  ExpectChanges(grouped.Finish({grouped.Conv(grouped.Conv("x", {61, 61, 3, 1, 1, 61}), {5, 61, 1})}), 0);
  FloatNetwork lines({2, 3, 12});
  ExpectChanges(lines.Finish({lines.Conv(lines.Conv("x", {61, 3, 3, 1, 1}), {5, 61, 1})}), 0);
  FloatNetwork volumes({2, 3, 5, 6, 7});
  const ModelBuilder volume = volumes.Finish({volumes.Conv(volumes.Conv("x", {61, 3, 3, 1, 1}), {5, 61, 1})});
  ExpectChanges(volume, 1);
  for (const auto& [node, input] : {std::pair{0, 1}, {0, 2}, {1, 1}}) {
    ModelBuilder model = Chain(61);
    std::string& name = *model.proto().mutable_graph()->mutable_node(node)->mutable_input(input);
    // An initializer that is an input, too, may be replaced by each run.
    for (const auto& initializer : model.proto().graph().initializer()) {
      if (initializer.name() != name) continue;
      model.Input(name, ElementType::kFloat, {initializer.dims().begin(), initializer.dims().end()});
    }
    EXPECT_EQ(Padded(model).report().passes[0].changes, 0u) << node << ", " << input;
  }
}

}  // namespace
}  // namespace tessera::testing
