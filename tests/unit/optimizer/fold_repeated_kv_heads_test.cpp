#include <utility>

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

}  // namespace
}  // namespace tessera::testing
