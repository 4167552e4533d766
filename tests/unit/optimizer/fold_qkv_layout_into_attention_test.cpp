#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

/// Attention of three heads of 8, whose queries, keys and values are `parts` of each row of x (counted from the end where
/// they are negative).
ModelBuilder PartsOfRows(const std::vector<int64_t>& parts, int64_t batch = 2, bool masked = false) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {batch, 5, 72}).Output("y", ElementType::kFloat, {batch, 5, 24});
  if (batch < 0) model.NameDim("x", 0, "batch");
  model.Ints("apart", {0, 0, 3, 3, 8}).Ints("joined", {0, 0, 24});
  model.Node("Reshape", {"x", "apart"}, {"p"});
  Transpose(model, "p", "t", {2, 0, 3, 1, 4});
  for (size_t i = 0; i < 3; ++i) {
    const std::string name = std::string(1, "qkv"[i]);
    model.Constant("i" + name, {}, std::span<const int64_t>(&parts[i], 1));
    Int(model.Node("Gather", {"t", "i" + name}, {name}), "axis", 0);
  }
  Transpose(model, "k", "kt", {0, 1, 3, 2});
  model.Node("MatMul", {"q", "kt"}, {"s"});
  if (masked) {
    model.Input("m", ElementType::kFloat, {5, 5});
    model.Node("Add", {"s", "m"}, {"sm"});
  }
  Int(model.Node("Softmax", {masked ? "sm" : "s"}, {"w"}), "axis", -1);
  model.Node("MatMul", {"w", "v"}, {"o"});
  Transpose(model, "o", "ot", {0, 2, 1, 3});
  model.Node("Reshape", {"ot", "joined"}, {"y"});
  return model;
}

TEST(FoldQkvLayoutIntoAttention, PartsOfRows) {
  for (const std::vector<int64_t>& parts : {std::vector<int64_t>{0, 1, 2}, {2, 0, -2}, {1, 1, 1}}) {
    for (const int64_t batch : {2, 1, -1}) {
      for (const bool masked : {false, true}) {
        const Rewriting rewriting(PartsOfRows(parts, batch, masked), {});
        EXPECT_EQ(rewriting.after(), "Attention") << batch;
        EXPECT_EQ(rewriting.Difference(1, 3, true), "");
      }
    }
  }
}

TEST(FoldQkvLayoutIntoAttention, OperandsOfTheirOwn) {
  ModelBuilder model = PartsOfRows({0, 1, 2});
  model.Input("c", ElementType::kFloat, {2, 3, 5, 8});
  for (onnx::NodeProto& node : *model.proto().mutable_graph()->mutable_node()) {
    if (node.output(0) == "o") node.set_input(1, "c");
  }
  const Rewriting rewriting(model, {});
  EXPECT_EQ(rewriting.Difference(1, 3, true), "");
}

}  // namespace
}  // namespace tessera::testing
