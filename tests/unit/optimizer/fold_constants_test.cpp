#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

TEST(FoldConstants, ComputesWhatDependsOnNothing) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 2}).Output("y", ElementType::kFloat, {2, 2});
  model.Floats("a", {2, 2}, {1, 2, 3, 4}).Floats("b", {2}, {10, 20});
  model.Node("Transpose", {"a"}, {"t"});
  model.Node("Add", {"t", "b"}, {"c"});
  model.Node("Mul", {"x", "c"}, {"y"});
  const Rewriting rewriting(model, {"fold_constants"});
  EXPECT_EQ(rewriting.before(), "Transpose Add Mul");
  EXPECT_EQ(rewriting.after(), "Mul");
  EXPECT_EQ(rewriting.report().passes[0].changes, 2u);
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(FoldConstants, OutputsMayBeConstant) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1}).Output("y", ElementType::kFloat, {2}).Output("z", ElementType::kFloat, {1});
  model.Floats("a", {2}, {1, -2});
  model.Node("Relu", {"a"}, {"y"});
  model.Node("Neg", {"x"}, {"z"});
  const Rewriting rewriting(model, {"fold_constants", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Neg");
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(FoldConstants, OverridableInitializersAreNotConstant) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Input("w", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  model.Floats("w", {2}, {1, 2});
  model.Node("Neg", {"w"}, {"n"});
  model.Node("Add", {"x", "n"}, {"y"});
  EXPECT_EQ(Rewriting(model, {"fold_constants"}).after(), "Neg Add");
}

TEST(FoldConstants, ErrorsComeWhenTheModelRuns) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {-1});
  model.Floats("a", {3}, {1, 2, 3}).Ints("i", {7});
  model.Node("Gather", {"a", "i"}, {"g"});
  model.Node("Add", {"x", "g"}, {"y"});
  const Rewriting rewriting(model, {});
  EXPECT_EQ(rewriting.after(), "Gather Add");
}

TEST(FoldConstants, LeavesWhatWouldTakeMuchMemory) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1}).Output("y", ElementType::kFloat, {1000, 1000});
  model.Floats("one", {1}, {1}).Ints("big", {1000, 1000}).Ints("small", {100, 100});
  model.Node("Expand", {"one", "big"}, {"a"});
  model.Node("Add", {"a", "x"}, {"y"});
  EXPECT_EQ(Rewriting(model, {}).after(), "Expand Add");

  ModelBuilder chain;  // each doubles
  chain.Input("x", ElementType::kFloat, {1}).Output("y", ElementType::kFloat, {-1});
  chain.Floats("v0", {1}, {1});
  for (int i = 0; i < 40; ++i) {
    const std::string from = "v" + std::to_string(i);
    Int(chain.Node("Concat", {from, from}, {"v" + std::to_string(i + 1)}), "axis", 0);
  }
  chain.Node("Add", {"v40", "x"}, {"y"});
  const Rewriting rewriting(chain, {});
  EXPECT_LT(rewriting.report().passes[1].changes, 30u);
  EXPECT_THAT(rewriting.after(), ::testing::HasSubstr("Concat Concat"));
}

TEST(FoldConstants, RandomNumbersStayRandom) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  Ints(model.Node("RandomNormal", {}, {"r"}), "shape", {2});
  Ints(model.Node("RandomNormal", {}, {"s"}), "shape", {2});
  model.Node("Add", {"r", "s"}, {"t"});
  model.Node("Add", {"x", "t"}, {"y"});
  EXPECT_EQ(Rewriting(model, {}).after(), "RandomNormal RandomNormal Add Add");
}

}  // namespace
}  // namespace tessera::testing
