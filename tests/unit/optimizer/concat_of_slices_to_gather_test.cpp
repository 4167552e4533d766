#include <limits>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

struct Cut {
  int64_t start, end, axis, step = 1;
};

/// Cuts of x, [3, 7, 4, 5], one behind the other.
ModelBuilder Joined(int64_t axis, const std::vector<Cut>& cuts) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {3, 7, 4, 5}).Output("y", ElementType::kFloat, {-1, -1, -1, -1});
  std::vector<std::string> parts;
  for (const Cut& cut : cuts) {
    const std::string n = std::to_string(parts.size());
    model.Ints("s" + n, {cut.start}).Ints("e" + n, {cut.end}).Ints("a" + n, {cut.axis}).Ints("t" + n, {cut.step});
    model.Node("Slice", {"x", "s" + n, "e" + n, "a" + n, "t" + n}, {"p" + n});
    parts.push_back("p" + n);
  }
  Int(ModelBuilder::AddNode(*model.proto().mutable_graph(), "Concat", parts, {"y"}), "axis", axis);
  return model;
}

TEST(ConcatOfSlicesToGather, OfOneAxis) {
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  for (const auto& [axis, cuts] : std::vector<std::pair<int64_t, std::vector<Cut>>>{
           {1, {{3, kEnd, 1}, {0, 3, 1}}},
           {1, {{-3, kEnd, -3}, {0, -3, 1}}},
           {-3, {{0, 7, 1}, {0, 7, 1}, {6, 7, 1}}},
           {0, {{2, 3, 0}, {-9, 9, 0}, {2, 1, 0}}},
       }) {
    const Rewriting rewriting(Joined(axis, cuts), {"concat_of_slices_to_gather"});
    EXPECT_EQ(rewriting.after(), "Gather");
    EXPECT_EQ(rewriting.Difference(), "");
  }
}

TEST(ConcatOfSlicesToGather, LeavesOthers) {
  for (const auto& [axis, cuts] : std::vector<std::pair<int64_t, std::vector<Cut>>>{
           {1, {{0, 3, 1}, {0, 6, 1, 2}}},  // steps
           {1, {{0, 3, 2}, {1, 4, 2}}},     // of another axis
           {2, {{3, 4, 2}, {0, 3, 2}}},     // of few elements
           {3, {{3, 5, 3}, {0, 3, 3}}},
       }) {
    const Rewriting rewriting(Joined(axis, cuts), {"concat_of_slices_to_gather"});
    EXPECT_EQ(rewriting.after(), "Slice Slice Concat");
  }
  ModelBuilder read = Joined(1, {{3, 7, 1}, {0, 3, 1}});
  read.Output("p0", ElementType::kFloat, {3, 4, 4, 5});
  EXPECT_EQ(Rewriting(read, {"concat_of_slices_to_gather"}).after(), "Slice Slice Concat");
}

}  // namespace
}  // namespace tessera::testing
