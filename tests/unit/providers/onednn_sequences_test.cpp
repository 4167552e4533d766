// Attention and recurrences on oneDNN, against the CPU provider.

#include <limits>
#include <string>

#include "model/model.h"
#include "onednn/claims/claims.h"
#include "providers/onednn_models.h"

namespace tessera::testing {
namespace {

struct AttentionCase {
  const char* name;
  int64_t q_heads, kv_heads;
  bool packed = false;
  std::vector<int64_t> mask;
  int64_t causal = 0;
  float scale = 0;  // 0: the usual
  bool takes = true;
};

TEST(OnednnSequences, Attention) {
  constexpr int64_t kBatch = 2, kQueries = 5, kKeys = 7, kWidth = 16, kValueWidth = 9;
  const AttentionCase cases[] = {
      {.name = "plain", .q_heads = 3, .kv_heads = 3},
      {.name = "rows of heads", .q_heads = 3, .kv_heads = 3, .packed = true},
      {.name = "shared keys", .q_heads = 6, .kv_heads = 2, .packed = true, .scale = 0.3f},
      {.name = "causal", .q_heads = 4, .kv_heads = 2, .causal = 1},
      {.name = "mask", .q_heads = 2, .kv_heads = 2, .mask = {kBatch, 1, kQueries, kKeys}},
      {.name = "mask of keys", .q_heads = 2, .kv_heads = 2, .mask = {kKeys}, .causal = 1},
      {.name = "mask of few keys", .q_heads = 2, .kv_heads = 2, .mask = {2, 1, 3}},
      {.name = "mask of heads", .q_heads = 4, .kv_heads = 2, .packed = true, .mask = {4, kQueries, kKeys}}};
  for (const AttentionCase& c : cases) {
    SCOPED_TRACE(c.name);
    ModelBuilder model(23);
    const auto shape = [&](int64_t heads, int64_t rows, int64_t width) {
      return c.packed ? std::vector<int64_t>{kBatch, rows, heads * width}
                      : std::vector<int64_t>{kBatch, heads, rows, width};
    };
    const std::vector<int64_t> q = shape(c.q_heads, kQueries, kWidth), k = shape(c.kv_heads, kKeys, kWidth),
                               v = shape(c.kv_heads, kKeys, kValueWidth);
    model.Input("q", ElementType::kFloat, q).Input("k", ElementType::kFloat, k).Input("v", ElementType::kFloat, v);
    model.Output("y", ElementType::kFloat, shape(c.q_heads, kQueries, kValueWidth));
    std::vector<Value> values = {RandomTensor(Shape(q), 4), RandomTensor(Shape(k), 5), RandomTensor(Shape(v), 6)};
    std::vector<std::string> inputs = {"q", "k", "v"};
    if (!c.mask.empty()) {
      inputs.push_back("m");
      model.Input("m", ElementType::kFloat, c.mask);
      std::vector<float> mask = Random(static_cast<size_t>(Shape(c.mask).num_elements()), 7);
      // Single keys, and in a mask of queries all of one row.
      for (size_t i = 0; i < mask.size(); ++i) {
        if (i % 5 == 1 || (mask.size() > kKeys * 2 && i / kKeys % kQueries == 2))
          mask[i] = -std::numeric_limits<float>::infinity();
      }
      values.emplace_back(Tensor::Of<float>(Shape(c.mask), mask));
    }
    auto& node = ModelBuilder::AddNode(*model.proto().mutable_graph(), "Attention", inputs, {"y"});
    if (c.packed) {
      Int(node, "q_num_heads", c.q_heads);
      Int(node, "kv_num_heads", c.kv_heads);
    }
    if (c.causal != 0) Int(node, "is_causal", c.causal);
    if (c.scale != 0) Float(node, "scale", c.scale);
    ExpectOnOnednn(model, values, c.takes);
  }
}

/// Operands are rounded to what the session allows.
/// softmax(Q K + mask) V, where the mask leaves nothing of row 1.
ModelBuilder SpeltOut() {
  ModelBuilder model(17);
  model.Input("q", ElementType::kFloat, {2, 3, 5, 16}).Input("k", ElementType::kFloat, {2, 3, 16, 7});
  model.Input("v", ElementType::kFloat, {2, 3, 7, 6}).Output("y", ElementType::kFloat, {2, 3, 5, 6});
  std::vector<float> mask(5 * 7, 0);
  std::fill_n(mask.begin() + 7, 7, -std::numeric_limits<float>::infinity());
  model.Constant("mask", {5, 7}, std::span<const float>(mask));
  model.Node("MatMul", {"q", "k"}, {"scores"});
  model.Node("Add", {"scores", "mask"}, {"masked"});
  Int(model.Node("Softmax", {"masked"}, {"weights"}), "axis", -1);
  model.Node("MatMul", {"weights", "v"}, {"y"});
  return model;
}

TEST(OnednnSequences, PartsOfAttention) {
  const ModelBuilder model = SpeltOut();
  const std::vector<Value> inputs = {RandomTensor({2, 3, 5, 16}, 4), RandomTensor({2, 3, 16, 7}, 5),
                                     RandomTensor({2, 3, 7, 6}, 6)};
  std::vector<Value> given(1), expected(1);
  const Session session = model.Session(OnProvider("dnnl"));
  session.Run(inputs, given);
  model.Session(OnProvider("cpu")).Run(inputs, expected);
  EXPECT_EQ(session.placement().nodes.at(0).provider, kOnednnProvider);
  const std::vector<float> a = ToVector(given[0]), b = ToVector(expected[0]);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(std::isnan(a[i]), i / 6 % 5 == 1) << i;
    EXPECT_EQ(std::isnan(a[i]), std::isnan(b[i])) << i;
    if (std::isnan(a[i])) continue;
    EXPECT_NEAR(a[i], b[i], 1e-4f) << i;
  }
}

/// Also where matmuls are oneDNN's, those of attention are left to who computes it as one.
TEST(OnednnSequences, PartsOfAttentionAreLeftTogether) {
  const std::string bytes = SpeltOut().bytes();
  const Model loaded = LoadModel(std::as_bytes(std::span(bytes)), nullptr, {});
  const Graph& graph = *loaded.graph;
  std::vector<bool> claimed(graph.num_node_slots(), true);
  const auto left = [&](onednn::Claims rule) {
    return std::ranges::count(onednn::LeftAttention(GraphViewer(graph), claimed, rule), true);
  };
  EXPECT_EQ(left(onednn::Claims::kRounded), 4);
  EXPECT_EQ(left(onednn::Claims::kAll), 0);
  claimed[static_cast<size_t>(graph.TopologicalOrder()[1])] = false;  // the Add
  EXPECT_EQ(left(onednn::Claims::kAll), 3);
  for (const char* precision : {"f32", "bf16"}) {
    SessionOptions options = OnProvider("dnnl");
    options.providers[0].options = {{"precision", precision}};
    const Session session = SpeltOut().Session(options);
    const auto& nodes = session.placement().nodes;
    EXPECT_TRUE(std::ranges::any_of(nodes, [](const auto& node) { return node.op_type == "Attention"; })) << precision;
    for (const auto& node : nodes) EXPECT_EQ(node.provider, kCpuProvider) << precision;
  }
}

TEST(OnednnSequences, RoundedAttention) {
  ModelBuilder model(23);
  model.Input("x", ElementType::kFloat, {2, 24, 64}).Output("y", ElementType::kFloat, {2, 24, 64});
  auto& node = model.Node("Attention", {"x", "x", "x"}, {"y"});
  Int(node, "q_num_heads", 2);
  Int(node, "kv_num_heads", 2);
  ExpectSameAsCpu(model, {RandomTensor({2, 24, 64}, 4)});
  if (!HasBfloat16()) GTEST_SKIP() << "no matmuls of bfloat16 here";
  SessionOptions options = OnProvider("dnnl");
  options.providers[0].options["precision"] = "bf16";
  EXPECT_EQ(model.Session(options).placement().nodes[0].precision, "bf16");
}

TEST(OnednnSequences, AttentionThatIsLeft) {
  for (const char* attribute : {"softcap", "left_window_size"}) {
    ModelBuilder model(25);
    model.Input("x", ElementType::kFloat, {1, 2, 6, 4}).Output("y", ElementType::kFloat, {1, 2, 6, 4});
    auto& node = model.Node("Attention", {"x", "x", "x"}, {"y"});
    if (std::string_view(attribute) == "softcap") Float(node, attribute, 2);
    else Int(node, attribute, 1);
    ExpectOnOnednn(model, {RandomTensor({1, 2, 6, 4}, 4)}, false);
  }
}

/// `states`: 0 none given, 1 the first, 2 both.
void TestRecurrent(const std::string& op, const char* direction, int64_t resets_after, bool bias, int states) {
  SCOPED_TRACE(::testing::Message() << op << " " << direction << ", linear_before_reset " << resets_after << ", bias "
                                    << bias << ", states " << states);
  constexpr int64_t kSteps = 5, kBatch = 3, kInputs = 7, kHidden = 6;
  const int64_t directions = std::string_view(direction) == "bidirectional" ? 2 : 1, gates = op == "LSTM" ? 4 : 3;
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {kSteps, kBatch, kInputs})
      .Output("y", ElementType::kFloat, {kSteps, directions, kBatch, kHidden});
  model.Output("yh", ElementType::kFloat, {directions, kBatch, kHidden});
  Weights(model, "w", {directions, gates * kHidden, kInputs});
  Weights(model, "r", {directions, gates * kHidden, kHidden});
  Weights(model, "b", {directions, 2 * gates * kHidden});
  std::vector<Value> values = {RandomTensor({kSteps, kBatch, kInputs}, 4)};
  for (int i = 0; i < states; ++i) {
    model.Input("s" + std::to_string(i), ElementType::kFloat, {directions, kBatch, kHidden});
    values.push_back(RandomTensor({directions, kBatch, kHidden}, 5 + static_cast<unsigned>(i)));
  }
  std::vector<std::string> inputs = {"x", "w", "r", bias ? "b" : "", ""}, outputs = {"y", "yh"};
  for (int i = 0; i < states; ++i) inputs.push_back("s" + std::to_string(i));
  if (op == "LSTM") {
    outputs.push_back("yc");
    model.Output("yc", ElementType::kFloat, {directions, kBatch, kHidden});
  }
  auto& node = ModelBuilder::AddNode(*model.proto().mutable_graph(), op, inputs, outputs);
  Int(node, "hidden_size", kHidden);
  Text(node, "direction", direction);
  if (op == "GRU") Int(node, "linear_before_reset", resets_after);
  ExpectOnOnednn(model, values);
}

TEST(OnednnSequences, Recurrences) {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    for (const bool bias : {true, false}) {
      for (const int states : {0, 1, 2}) TestRecurrent("LSTM", direction, 0, bias, states);
      for (const int64_t resets_after : {0, 1}) {
        for (const int states : {0, 1}) TestRecurrent("GRU", direction, resets_after, bias, states);
      }
    }
  }
}

/// Only the last state is asked for, and what follows reads it.
TEST(OnednnSequences, LastStates) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {4, 2, 7}).Output("y", ElementType::kFloat, {2, 1, 2, 3});
  Weights(model, "w", {2, 24, 7});
  Weights(model, "r", {2, 24, 6});
  model.Floats("p", {6, 3}, Random(18, 3));
  auto& node = model.Node("LSTM", {"x", "w", "r"}, {"", "h"});
  Int(node, "hidden_size", 6);
  Text(node, "direction", "bidirectional");
  model.Node("MatMul", {"h", "p"}, {"m"});
  model.Ints("shape", {2, 1, 2, 3});
  model.Node("Reshape", {"m", "shape"}, {"y"});
  ExpectOnOnednn(model, {RandomTensor({4, 2, 7}, 4)});
}

}  // namespace
}  // namespace tessera::testing
