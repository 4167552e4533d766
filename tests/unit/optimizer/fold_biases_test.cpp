#include "attributes.h"
#include "optimizer/conv_model.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

TEST(FoldBiases, BroadcastsAreNoBias) {
  ModelBuilder model = ConvModel("Conv", false);
  model.Floats("s", {5, 1}, Numbers(5));
  model.Node("Add", {"c", "s"}, {"y"});
  model.proto().mutable_graph()->mutable_node(0)->mutable_attribute()->Clear();
  Ints(*model.proto().mutable_graph()->mutable_node(0), "pads", {1, 1, 1, 1});
  EXPECT_EQ(Rewriting(model, {"fold_biases"}).after(), "Conv Add");
}

TEST(FoldBiases, MatMulAndAddAreGemm) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, 4})
      .Input("z", ElementType::kFloat, {3})
      .Output("y", ElementType::kFloat, {-1, 3});
  model.Floats("w", {4, 3}, Numbers(12));
  model.Node("Neg", {"z"}, {"n"});
  model.Node("MatMul", {"x", "w"}, {"m"});
  model.Node("Add", {"n", "m"}, {"y"});
  const Rewriting rewriting(model, {"fold_biases"});
  EXPECT_EQ(rewriting.after(), "Neg Gemm");
  EXPECT_EQ(rewriting.Difference(1, 5, true), "");
}

TEST(FoldBiases, MatMulOfOtherRanksStays) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 2, 4}).Output("y", ElementType::kFloat, {2, 2, 3});
  model.Floats("w", {4, 3}, Numbers(12)).Floats("b", {3}, Numbers(3));
  model.Node("MatMul", {"x", "w"}, {"m"});
  model.Node("Add", {"m", "b"}, {"y"});
  EXPECT_EQ(Rewriting(model, {"fold_biases"}).after(), "MatMul Add");

  ModelBuilder wide;  // the sum is larger than the product
  wide.Input("x", ElementType::kFloat, {1, 4}).Output("y", ElementType::kFloat, {5, 3});
  wide.Floats("w", {4, 3}, Numbers(12)).Floats("b", {5, 3}, Numbers(15));
  wide.Node("MatMul", {"x", "w"}, {"m"});
  wide.Node("Add", {"m", "b"}, {"y"});
  EXPECT_EQ(Rewriting(wide, {"fold_biases"}).after(), "MatMul Add");
}

}  // namespace
}  // namespace tessera::testing
