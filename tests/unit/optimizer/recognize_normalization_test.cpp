#include <algorithm>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

TEST(RecognizeNormalization, LayerAndRms) {
  for (const bool centers : {true, false}) {
    for (const bool reciprocal : {true, false}) {
      ModelBuilder model(23);
      model.Input("x", ElementType::kFloat, {-1, 3, 8}).Output("y", ElementType::kFloat, {-1, 3, 8});
      model.Ints("axes", {-1}).Floats("two", {}, {2}).Floats("eps", {}, {1e-5f});
      model.Floats("g", {8}, Numbers(8)).Floats("b", {8}, Numbers(8, 0.1f));
      std::string d = "x";
      if (centers) {
        model.Node("ReduceMean", {"x", "axes"}, {"mean"});
        model.Node("Sub", {"x", "mean"}, {"d"});
        d = "d";
      }
      model.Node("Pow", {d, "two"}, {"p"});
      model.Node("ReduceMean", {"p", "axes"}, {"v"});
      model.Node("Add", {"v", "eps"}, {"ve"});
      model.Node("Sqrt", {"ve"}, {"s"});
      if (reciprocal) {
        model.Node("Reciprocal", {"s"}, {"r"});
        model.Node("Mul", {d, "r"}, {"n"});
      } else {
        model.Node("Div", {d, "s"}, {"n"});
      }
      model.Node("Mul", {"g", "n"}, {centers ? "m" : "y"});
      if (centers) model.Node("Add", {"m", "b"}, {"y"});
      const Rewriting rewriting(model, {"recognize_normalization"});
      EXPECT_EQ(rewriting.after(), centers ? "LayerNormalization" : "RMSNormalization");
      EXPECT_EQ(rewriting.Difference(1, 4, true), "");
    }
  }
}

TEST(RecognizeNormalization, WithoutAScaleOrABias) {
  for (const bool bias : {true, false}) {
    for (const ElementType type : {ElementType::kFloat, ElementType::kFloat16}) {
      ModelBuilder model;
      model.Input("x", type, {4, 3, 8}).Output("y", type, {4, 3, 8});
      model.Ints("axes", {-1})
          .Floats("twos", {}, {2})
          .Floats("epsilon", {}, {1e-3f})
          .Floats("offset", {8}, Numbers(8, 0.1f));
      for (const auto& [from, to] : {std::pair("twos", "two"), std::pair("epsilon", "eps"), std::pair("offset", "b")}) {
        Int(model.Node("Cast", {from}, {to}), "to", static_cast<int64_t>(type));
      }
      model.Node("ReduceMean", {"x", "axes"}, {"mean"});
      model.Node("Sub", {"x", "mean"}, {"d"});
      model.Node("Pow", {"d", "two"}, {"p"});
      model.Node("ReduceMean", {"p", "axes"}, {"v"});
      model.Node("Add", {"v", "eps"}, {"ve"});
      model.Node("Sqrt", {"ve"}, {"s"});
      model.Node("Div", {"d", "s"}, {bias ? "n" : "y"});
      if (bias) model.Node("Add", {"n", "b"}, {"y"});
      const Rewriting rewriting(model, {"fold_constants", "recognize_normalization"});
      EXPECT_EQ(rewriting.after(), "LayerNormalization");
      if (type != ElementType::kFloat) continue;  // a half's steps round, the fused operator does not
      EXPECT_EQ(rewriting.Difference(1, 4, true), "");
    }
  }
}

/// Of x [2, 8, 8] over one axis, times 1 / deviation; epsilon and the 1 are of these shapes.
ModelBuilder Normalization(int64_t axis, const std::vector<int64_t>& epsilon, const std::vector<int64_t>& one) {
  ModelBuilder model;
  const size_t rank = std::max({size_t{3}, epsilon.size(), one.size()});
  model.Input("x", ElementType::kFloat, {2, 8, 8}).Output("y", ElementType::kFloat, std::vector<int64_t>(rank, -1));
  model.Ints("axes", {axis})
      .Floats("two", {}, {2})
      .Floats("eps", epsilon, {1e-5f})
      .Floats("one", one, {1})
      .Floats("g", {8}, Numbers(8));
  model.Node("ReduceMean", {"x", "axes"}, {"mean"});
  model.Node("Sub", {"x", "mean"}, {"d"});
  model.Node("Pow", {"d", "two"}, {"p"});
  model.Node("ReduceMean", {"p", "axes"}, {"v"});
  model.Node("Add", {"v", "eps"}, {"ve"});
  model.Node("Sqrt", {"ve"}, {"s"});
  model.Node("Div", {"one", "s"}, {"r"});
  model.Node("Mul", {"d", "r"}, {"n"});
  model.Node("Mul", {"n", "g"}, {"y"});
  return model;
}

TEST(RecognizeNormalization, OtherAxesAndRanksStay) {
  const std::vector<int64_t> higher(4, 1);
  EXPECT_EQ(Rewriting(Normalization(2, {1, 1, 1}, {1}), {"recognize_normalization"}).after(), "LayerNormalization");
  for (const ModelBuilder& model : {Normalization(1, {}, {}), Normalization(2, higher, {}), Normalization(2, {}, higher)}) {
    const Rewriting rewriting(model, {"recognize_normalization"});
    EXPECT_EQ(rewriting.after(), rewriting.before());
    EXPECT_EQ(rewriting.Difference(), "");
  }
}

}  // namespace
}  // namespace tessera::testing
