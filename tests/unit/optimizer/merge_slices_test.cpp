#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

/// y = x[axes of the first][axes of the second], of x [batch, 6, 7, 5].
struct Bounds {
  std::vector<int64_t> starts, ends, axes, steps;
};

ModelBuilder Sliced(const std::vector<Bounds>& slices) {
  ModelBuilder model(18);
  model.Input("x", ElementType::kFloat, {-1, 6, 7, 5}).AnyOutput("y", ElementType::kFloat);
  std::string from = "x";
  for (size_t i = 0; i < slices.size(); ++i) {
    const std::string n = std::to_string(i), to = "part" + n;
    model.Ints("starts" + n, slices[i].starts)
        .Ints("ends" + n, slices[i].ends)
        .Ints("axes" + n, slices[i].axes)
        .Ints("steps" + n, slices[i].steps);
    model.Node("Slice", {from, "starts" + n, "ends" + n, "axes" + n, "steps" + n}, {to});
    from = to;
  }
  model.Node("Neg", {from}, {"y"});
  return model;
}

TEST(MergeSlices, OfOtherAxesBecomeOne) {
  const std::vector<std::vector<Bounds>> models = {
      {{{1}, {INT64_MAX}, {2}, {1}}, {{-3}, {-1}, {-1}, {1}}},
      {{{5, 1}, {0, 9}, {1, 0}, {-2, 1}}, {{0}, {4}, {3}, {3}}, {{1}, {6}, {2}, {2}}},
      {{{9}, {3}, {1}, {1}}, {{0}, {2}, {2}, {1}}},
  };
  for (const auto& slices : models) {
    const Rewriting rewriting(Sliced(slices), {"merge_slices"});
    EXPECT_EQ(rewriting.after(), "Slice Neg");
    EXPECT_EQ(rewriting.Difference(), "");
  }
}

TEST(MergeSlices, OfTheSameAxisStayApart) {
  const Rewriting rewriting(Sliced({{{1}, {5}, {2}, {1}}, {{1}, {3}, {-2}, {1}}}), {"merge_slices"});
  EXPECT_EQ(rewriting.before(), rewriting.after());
}

TEST(MergeSlices, LeaveWhatOthersRead) {
  ModelBuilder model = Sliced({{{1}, {5}, {2}, {1}}, {{1}, {3}, {3}, {1}}});
  model.Output("z", ElementType::kFloat, {-1, 6, 4, 5}).Node("Abs", {"part0"}, {"z"});
  const Rewriting rewriting(model, {"merge_slices"});
  EXPECT_EQ(rewriting.before(), rewriting.after());
}

}  // namespace
}  // namespace tessera::testing
