#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

TEST(EliminateCommonSubexpressions, OneComputesForAll) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 2}).Output("y", ElementType::kFloat, {2, 2});
  Ints(model.Node("Transpose", {"x"}, {"a"}), "perm", {1, 0});
  Ints(model.Node("Transpose", {"x"}, {"b"}), "perm", {1, 0});
  model.Node("Relu", {"a"}, {"c"});
  model.Node("Relu", {"b"}, {"d"});
  model.Node("Add", {"c", "d"}, {"y"});
  const Rewriting rewriting(model, {"eliminate_common_subexpressions"});
  EXPECT_EQ(rewriting.after(), "Transpose Relu Add");
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(EliminateCommonSubexpressions, AttributesAndOutputsDiffer) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 2})
      .Output("y", ElementType::kFloat, {2, 2})
      .Output("z", ElementType::kFloat, {2, 2});
  model.Output("w", ElementType::kFloat, {2, 2});
  Float(model.Node("LeakyRelu", {"x"}, {"a"}), "alpha", 0.0f);
  Float(model.Node("LeakyRelu", {"x"}, {"b"}), "alpha", -0.0f);
  model.Node("Sub", {"a", "b"}, {"y"});
  model.Node("Neg", {"x"}, {"n"});
  model.Node("Neg", {"x"}, {"z"});  // the output's name stays
  model.Node("Neg", {"x"}, {"w"});
  model.Node("Exp", {"n"}, {"e"});
  const Rewriting rewriting(model, {"eliminate_common_subexpressions"});
  EXPECT_EQ(rewriting.after(), "LeakyRelu LeakyRelu Sub Neg Neg Exp");
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(EliminateCommonSubexpressions, AttributesInAnyOrder) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 2}).Output("y", ElementType::kFloat, {2, 2});
  Float(Float(model.Node("HardSigmoid", {"x"}, {"a"}), "alpha", 0.5f), "beta", 0.25f);
  Float(Float(model.Node("HardSigmoid", {"x"}, {"b"}), "beta", 0.25f), "alpha", 0.5f);
  Float(Float(model.Node("HardSigmoid", {"x"}, {"c"}), "alpha", 0.25f), "beta", 0.5f);
  model.Node("Sum", {"a", "b", "c"}, {"y"});
  const Rewriting rewriting(model, {"eliminate_common_subexpressions"});
  EXPECT_EQ(rewriting.after(), "HardSigmoid HardSigmoid Sum");
  EXPECT_EQ(rewriting.Difference(), "");
}

}  // namespace
}  // namespace tessera::testing
