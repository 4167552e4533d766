#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

/// Slices `axis` of a Transpose of x, [2, 3, 4, 5].
ModelBuilder Picks(const std::vector<int64_t>& perm, int64_t axis, const std::vector<int64_t>& indices) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {2, 3, 4, 5});
  Transpose(model, "x", "t", perm);
  for (const int64_t index : indices) {
    const std::string name = std::to_string(index);
    model.Constant("i" + name, {}, std::span<const int64_t>(&index, 1));
    Int(model.Node("Gather", {"t", "i" + name}, {"y" + name}), "axis", axis);
    model.Output("y" + name, ElementType::kFloat, {-1, -1, -1});
  }
  return model;
}

TEST(HoistGatherOverTranspose, TransposesSlices) {
  const auto after = [](const std::vector<int64_t>& perm, int64_t axis, const std::vector<int64_t>& indices) {
    const Rewriting rewriting(Picks(perm, axis, indices), {"hoist_gather_over_transpose"});
    EXPECT_EQ(rewriting.Difference(), "");
    return rewriting.after();
  };
  EXPECT_EQ(after({1, 0, 3, 2}, 0, {0, 2, -2}), "Gather Transpose Gather Transpose Gather Transpose");
  EXPECT_EQ(after({2, 1, 0, 3}, 0, {1}), "Gather Transpose");
  EXPECT_EQ(after({3, 2, 0, 1}, -2, {0, 1}), "Gather Transpose Gather Transpose");
  EXPECT_EQ(after({2, 0, 1, 3}, 0, {3, 1}), "Gather Gather");
  // Single elements; more slices than there are.
  EXPECT_EQ(after({3, 0, 1, 2}, 0, {3, 1}), "Transpose Gather Gather");
  EXPECT_EQ(after({1, 0, 3, 2}, 1, {0, 1, -1}), "Transpose Gather Gather Gather");
}

TEST(HoistGatherOverTranspose, LeavesWhatOthersRead) {
  ModelBuilder read = Picks({1, 0, 3, 2}, 0, {0});
  read.Node("Relu", {"t"}, {"r"});
  read.Output("r", ElementType::kFloat, {3, 2, 5, 4});
  ModelBuilder several = Picks({1, 0, 3, 2}, 0, {0});
  several.Ints("two", {0, 1});
  Int(several.Node("Gather", {"t", "two"}, {"s"}), "axis", 0);
  several.Output("s", ElementType::kFloat, {2, 2, 5, 4});
  for (const ModelBuilder* model : {&read, &several}) {
    const Rewriting rewriting(*model, {"hoist_gather_over_transpose"});
    EXPECT_EQ(rewriting.after(), rewriting.before());
  }
}

}  // namespace
}  // namespace tessera::testing
