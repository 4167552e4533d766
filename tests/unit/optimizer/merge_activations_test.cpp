#include <cmath>
#include <limits>

#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

TEST(MergeActivations, OneDoesItAll) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {64}).Output("y", ElementType::kFloat, {64}).Output("z", ElementType::kFloat, {64});
  model.Output("w", ElementType::kFloat, {64}).Output("v", ElementType::kFloat, {64});
  model.Floats("one", {}, {1}).Floats("minus", {}, {-1});
  model.Node("Clip", {"x", "minus", "one"}, {"a"});  // both become one Clip
  model.Node("Relu", {"a"}, {"y"});
  model.Node("Relu", {"x"}, {"b"});
  model.Node("Clip", {"b", "", "one"}, {"z"});
  model.Node("Sigmoid", {"x"}, {"c"});
  model.Node("Relu", {"c"}, {"d"});
  model.Node("Abs", {"d"}, {"w"});
  model.Node("Neg", {"x"}, {"e"});
  model.Node("Neg", {"e"}, {"f"});
  model.Node("Floor", {"f"}, {"g"});
  model.Node("Ceil", {"g"}, {"v"});
  const Rewriting rewriting(model, {"merge_activations", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Clip Clip Sigmoid Abs Floor");
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(MergeActivations, KeepsNaNAndInfinity) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {4}).Output("y", ElementType::kFloat, {4});
  model.Floats("low", {}, {-1});
  model.Node("Clip", {"x", "low"}, {"a"});
  model.Node("Relu", {"a"}, {"y"});
  const Rewriting rewriting(model, {"merge_activations"});
  EXPECT_EQ(rewriting.after(), "Clip");
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rewriting.Difference({Floats({4}, {inf, -inf, std::nanf(""), -0.5f})}), "");
}

TEST(MergeActivations, KeepsInfiniteBounds) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const bool low : {true, false}) {  // all becomes that infinity
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {4}).Output("y", ElementType::kFloat, {4});
    model.Floats("bound", {}, {low ? inf : -inf}).Floats("six", {}, {6});
    model.Node("Clip", {"x", "", "six"}, {"a"});
    low ? model.Node("Clip", {"a", "bound"}, {"y"}) : model.Node("Clip", {"a", "", "bound"}, {"y"});
    const Rewriting rewriting(model, {"merge_activations"});
    EXPECT_EQ(rewriting.after(), "Clip");
    EXPECT_EQ(rewriting.Difference(), "") << low;
  }
}

}  // namespace
}  // namespace tessera::testing
