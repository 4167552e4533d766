#include <functional>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

TEST(FoldPads, IntoConv) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 2, 4, 4}).Output("y", ElementType::kFloat, {1, 1, -1, -1});
  model.Ints("pads", {0, 0, 1, 0, 0, 0, 2, 1}).Floats("w", {1, 2, 3, 3}, Numbers(18));
  model.Node("Pad", {"x", "pads"}, {"p"});
  Ints(model.Node("Conv", {"p", "w"}, {"y"}), "pads", {0, 1, 0, 0});
  const Rewriting rewriting(model, {"fold_pads", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Conv");
  EXPECT_EQ(rewriting.Difference(1, 3, true), "");
}

TEST(FoldPads, OthersStay) {
  for (const int what : {0, 1, 2}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1, 2, 4, 4}).Output("y", ElementType::kFloat, {1, 1, -1, -1});
    model.Ints("pads", {0, 0, 1, 1, 0, what == 0 ? 1 : 0, 1, what == 1 ? -1 : 1})
        .Floats("w", {1, what == 0 ? 3 : 2, 3, 3}, Numbers(what == 0 ? 27 : 18));
    model.Floats("value", {}, {what == 2 ? 1.0f : 0.0f});
    model.Node("Pad", {"x", "pads", "value"}, {"p"});
    model.Node("Conv", {"p", "w"}, {"y"});
    EXPECT_EQ(Rewriting(model, {"fold_pads"}).after(), "Pad Conv") << what;
  }
}

/// Pad around x, then a pool of 3x2 with a stride of 2 over it; `before` is an operator between x and Pad.
ModelBuilder PaddedPool(const char* pool, const char* before, std::vector<int64_t> pads,
                        const std::function<void(onnx::NodeProto&)>& attributes) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3, 7, 6}).Output("y", ElementType::kFloat, {2, 3, -1, -1});
  model.Ints("pads", std::move(pads));
  model.Node(before, {"x"}, {"b"});
  model.Node("Pad", {"b", "pads"}, {"p"});
  onnx::NodeProto& node = model.Node(pool, {"p"}, {"y"});
  Ints(node, "kernel_shape", {3, 2});
  Ints(node, "strides", {2, 2});
  attributes(node);
  return model;
}

TEST(FoldPads, IntoPools) {
  const auto folded = [](const ModelBuilder& model) {
    const Rewriting rewriting(model, {"fold_pads", "eliminate_dead_nodes"});
    EXPECT_EQ(rewriting.Difference(1, 3, true), "");
    return rewriting.after();
  };
  const auto plain = [](onnx::NodeProto&) {};
  const auto counts = [](onnx::NodeProto& node) {
    Int(node, "count_include_pad", 1);
    Ints(node, "pads", {1, 0, 0, 1});
  };
  EXPECT_EQ(folded(PaddedPool("AveragePool", "Tanh", {0, 0, 1, 1, 0, 0, 2, 0}, plain)), "Tanh AveragePool");
  EXPECT_EQ(folded(PaddedPool("AveragePool", "Tanh", {0, 0, 1, 1, 0, 0, 2, 0}, counts)), "Tanh AveragePool");
  EXPECT_EQ(folded(PaddedPool("MaxPool", "Relu", {0, 0, 1, 1, 0, 0, 2, 0}, plain)), "Relu MaxPool");
}

TEST(FoldPads, OtherPoolsStay) {
  const auto after = [](const char* pool, const char* before, std::vector<int64_t> pads,
                        const std::function<void(onnx::NodeProto&)>& attributes) {
    return Rewriting(PaddedPool(pool, before, std::move(pads), attributes), {"fold_pads"}).after();
  };
  const std::vector<int64_t> ones = {0, 0, 1, 1, 0, 0, 1, 1};
  const auto plain = [](onnx::NodeProto&) {};
  const auto ceil = [](onnx::NodeProto& node) { Int(node, "ceil_mode", 1); };
  const auto uncounted = [](onnx::NodeProto& node) { Ints(node, "pads", {1, 0, 0, 1}); };
  const auto same = [](onnx::NodeProto& node) { Text(node, "auto_pad", "SAME_UPPER"); };
  EXPECT_EQ(after("AveragePool", "Tanh", ones, ceil), "Tanh Pad AveragePool");
  EXPECT_EQ(after("AveragePool", "Tanh", ones, uncounted),
            "Tanh Pad AveragePool");  // its own padding does not count, Pad's does
  EXPECT_EQ(after("AveragePool", "Tanh", ones, same), "Tanh Pad AveragePool");
  EXPECT_EQ(after("AveragePool", "Tanh", {0, 0, 1, 2, 0, 0, 1, 1}, plain),
            "Tanh Pad AveragePool");  // windows of padding alone
  EXPECT_EQ(after("AveragePool", "Tanh", {0, 1, 1, 1, 0, 0, 1, 1}, plain), "Tanh Pad AveragePool");
  EXPECT_EQ(after("MaxPool", "Tanh", ones, plain), "Tanh Pad MaxPool");  // zeros are more than what is there
  EXPECT_EQ(after("MaxPool", "Relu", ones, ceil), "Relu Pad MaxPool");
}

}  // namespace
}  // namespace tessera::testing
