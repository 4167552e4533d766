#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

/// PyTorch's GroupNorm: `groups` of the 6 channels of x [2, 6, 3, 4].
ModelBuilder GroupNorm(int64_t groups, const std::vector<int64_t>& factors, const std::vector<int64_t>& offsets) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {2, 6, 3, 4}).Output("y", ElementType::kFloat, {2, 6, 3, 4});
  model.Ints("to", {0, groups, -1}).Ints("back", {2, 6, 3, 4});
  model.Floats("scale", {groups}, Numbers(static_cast<size_t>(groups), 1.5f))
      .Floats("bias", {groups}, Numbers(static_cast<size_t>(groups)));
  model.Floats("m", factors, Numbers(6, -0.7f)).Floats("a", offsets, Numbers(6));
  model.Node("Reshape", {"x", "to"}, {"r"});
  model.Node("InstanceNormalization", {"r", "scale", "bias"}, {"n"});
  model.Node("Reshape", {"n", "back"}, {"b"});
  model.Node("Mul", {"m", "b"}, {"s"});
  model.Node("Add", {"s", "a"}, {"y"});
  return model;
}

TEST(RecognizeGroupNormalization, WithScaleAndBias) {
  for (const int64_t groups : {1, 2, 3, 6}) {
    const Rewriting rewriting(GroupNorm(groups, {6, 1, 1}, {1, 6, 1, 1}), {"recognize_group_normalization"});
    EXPECT_EQ(rewriting.after(), "GroupNormalization");
    EXPECT_EQ(rewriting.Difference(1, 3, true), "");
  }
}

TEST(RecognizeGroupNormalization, LeavesWhatIsNotByChannel) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {2, 6, 3, 4}).Output("y", ElementType::kFloat, {2, 6, 4, 3});
  model.Ints("to", {0, 2, -1}).Ints("back", {2, 6, 4, 3}).Floats("scale", {2}, {1, 2}).Floats("bias", {2}, {0, 1});
  model.Node("Reshape", {"x", "to"}, {"r"});
  model.Node("InstanceNormalization", {"r", "scale", "bias"}, {"n"});
  model.Node("Reshape", {"n", "back"}, {"y"});
  EXPECT_EQ(Rewriting(model, {"recognize_group_normalization"}).after(), "Reshape InstanceNormalization Reshape");
}

}  // namespace
}  // namespace tessera::testing
