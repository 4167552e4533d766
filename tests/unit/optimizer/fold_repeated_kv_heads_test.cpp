#include <utility>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

/// Four query heads, `times` for each of the heads of keys and values.
ModelBuilder Grouped(int64_t key_times, int64_t value_times, const std::vector<int64_t>& grown) {
  ModelBuilder model(23);
  model.Input("q", ElementType::kFloat, {2, 4, 5, 8});
  model.Ints("axis", {2});
  for (const auto& [name, times] : {std::pair<std::string, int64_t>{"k", key_times}, {"v", value_times}}) {
    const int64_t heads = 4 / times;
    std::vector<int64_t> size = grown;
    size[2] = times;
    model.Input(name, ElementType::kFloat, {grown[0] == 2 ? 1 : 2, heads, 7, 8});
    model.Ints(name + "size", size).Ints(name + "joined", {2, 4, -1, 8});
    model.Node("Unsqueeze", {name, "axis"}, {name + "u"});
    model.Node("Expand", {name + "u", name + "size"}, {name + "e"});
    model.Node("Reshape", {name + "e", name + "joined"}, {name + "r"});
  }
  model.Node("Attention", {"q", "kr", "vr"}, {"y"});
  model.Output("y", ElementType::kFloat, {2, 4, 5, 8});
  return model;
}

TEST(FoldRepeatedKvHeads, OfKeysAndValues) {
  const Rewriting rewriting(Grouped(2, 2, {1, 1, 1, 1, 1}), {"fold_repeated_kv_heads", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Attention");
  EXPECT_EQ(rewriting.Difference(1, 3, true), "");
}

TEST(FoldRepeatedKvHeads, LeavesOtherRepetitions) {
  for (const ModelBuilder& model : {Grouped(2, 4, {1, 1, 1, 1, 1}), Grouped(2, 2, {2, 1, 1, 1, 1})}) {
    const Rewriting rewriting(model, {"fold_repeated_kv_heads"});
    EXPECT_EQ(rewriting.after(), rewriting.before());
    EXPECT_EQ(rewriting.Difference(1, 3, true), "");
  }
}

/// The Attention of a mask that may leave nothing is made by the lowering: heads are shared afterwards.
TEST(FoldRepeatedKvHeads, OfAttentionThatIsLowered) {
  ModelBuilder model(23);
  model.Input("q", ElementType::kFloat, {2, 4, 5, 8}).Input("mask", ElementType::kFloat, {2, 1, 5, 7});
  model.Ints("axis", {2}).Ints("size", {1, 1, 2, 1, 1}).Ints("joined", {2, 4, -1, 8});
  for (const std::string name : {"k", "v"}) {
    model.Input(name, ElementType::kFloat, {2, 2, 7, 8});
    model.Node("Unsqueeze", {name, "axis"}, {name + "u"});
    model.Node("Expand", {name + "u", "size"}, {name + "e"});
    model.Node("Reshape", {name + "e", "joined"}, {name + "r"});
  }
  Transpose(model, "kr", "kt", {0, 1, 3, 2});
  model.Node("MatMul", {"q", "kt"}, {"s"});
  model.Node("Add", {"s", "mask"}, {"m"});
  Int(model.Node("Softmax", {"m"}, {"w"}), "axis", -1);
  model.Node("MatMul", {"w", "vr"}, {"y"});
  model.Output("y", ElementType::kFloat, {2, 4, 5, 8});
  const Rewriting rewriting(model, {});
  EXPECT_EQ(rewriting.after(), "Attention");
  EXPECT_EQ(rewriting.Difference(1, 3, true), "");
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  const Session session = model.Session(options);
  ASSERT_EQ(session.placement().nodes.size(), 1u) << session.placement().ToText();
  EXPECT_EQ(session.placement().nodes[0].op_type, "Attention");
}

}  // namespace
}  // namespace tessera::testing
