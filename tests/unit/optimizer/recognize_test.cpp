#include <algorithm>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

/// y = x * `factor` * "half", in one of three orders.
void MultiplyHalves(ModelBuilder& model, const std::string& factor, int order) {
  if (order == 0) {
    model.Node("Mul", {"x", factor}, {"m"});
    model.Node("Mul", {"m", "half"}, {"y"});
  } else if (order == 1) {
    model.Node("Mul", {"half", "x"}, {"h"});
    model.Node("Mul", {"h", factor}, {"y"});
  } else {
    model.Node("Mul", {factor, "half"}, {"h"});
    model.Node("Mul", {"h", "x"}, {"y"});
  }
}

TEST(RecognizeGelu, InAnyOrder) {
  for (const int order : {0, 1, 2}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {3, 5}).Output("y", ElementType::kFloat, {3, 5});
    model.Floats("root", {}, {1.41421356f}).Floats("one", {1}, {1}).Floats("half", {}, {0.5f});
    model.Node("Div", {"x", "root"}, {"d"});
    model.Node("Erf", {"d"}, {"e"});
    model.Node("Add", {"one", "e"}, {"a"});
    MultiplyHalves(model, "a", order);
    const Rewriting rewriting(model, {"recognize_gelu", "eliminate_dead_nodes"});
    EXPECT_EQ(rewriting.after(), "Gelu") << order;
    EXPECT_EQ(rewriting.Difference(1, 3, true), "") << order;
  }
}

TEST(RecognizeGelu, OtherConstantsStay) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {3, 5}).Output("y", ElementType::kFloat, {3, 5});
  model.Floats("root", {}, {1.5f}).Floats("one", {}, {1}).Floats("half", {}, {0.5f});
  model.Node("Div", {"x", "root"}, {"d"});
  model.Node("Erf", {"d"}, {"e"});
  model.Node("Add", {"one", "e"}, {"a"});
  model.Node("Mul", {"x", "a"}, {"m"});
  model.Node("Mul", {"m", "half"}, {"y"});
  EXPECT_EQ(Rewriting(model, {"recognize_gelu"}).after(), "Div Erf Add Mul Mul");
}

/// sqrt(2/pi) (x + 0.044715 x^3) as "u", spelled in one of the ways of exporters.
void AddTanhArgument(ModelBuilder& model, int form, float cube = 0.044715f) {
  model.Floats("c", {}, {0.7978845834732056f}).Floats("a", {1}, {cube}).Floats("three", {}, {3}).Floats("one", {}, {1});
  if (form == 0) {
    model.Node("Pow", {"x", "three"}, {"p"});
    model.Node("Mul", {"p", "a"}, {"q"});
    model.Node("Add", {"x", "q"}, {"r"});
    model.Node("Mul", {"r", "c"}, {"u"});
    return;
  }
  model.Node("Mul", {"x", "a"}, {"p"});
  model.Node("Mul", {"p", "x"}, {"q"});
  model.Node("Add", {"one", "q"}, {"r"});
  model.Node("Mul", {"x", "c"}, {"s"});
  model.Node("Mul", {"s", "r"}, {"u"});
}

TEST(RecognizeGelu, OfTanhInAnyOrder) {
  for (const int form : {0, 1}) {
    for (const int order : {0, 1, 2}) {
      ModelBuilder model;
      model.Input("x", ElementType::kFloat, {3, 5}).Output("y", ElementType::kFloat, {3, 5});
      AddTanhArgument(model, form);
      model.Floats("half", {}, {0.5f});
      model.Node("Tanh", {"u"}, {"t"});
      model.Node("Add", {"t", "one"}, {"b"});
      MultiplyHalves(model, "b", order);
      const Rewriting rewriting(model, {"recognize_gelu", "eliminate_dead_nodes"});
      EXPECT_EQ(rewriting.after(), "Gelu") << form << order;
      EXPECT_EQ(rewriting.Difference(1, 3, true), "") << form << order;
    }
  }
}

TEST(RecognizeGelu, OtherFunctionsOfTanhStay) {
  for (const std::string reason : {"cube", "halved", "read twice", "output", "other operand"}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {3, 5})
        .Input("z", ElementType::kFloat, {3, 5})
        .Output("y", ElementType::kFloat, {3, 5});
    AddTanhArgument(model, 0, reason == "cube" ? 0.0447f : 0.044715f);
    model.Floats("half", {}, {reason == "halved" ? 0.25f : 0.5f});
    model.Node("Tanh", {"u"}, {"t"});
    model.Node("Add", {"t", "one"}, {"b"});
    model.Node("Mul", {reason == "other operand" ? "z" : "x", "b"}, {"m"});
    model.Node("Mul", {"m", "half"}, {"y"});
    if (reason == "read twice") {
      model.Node("Neg", {"t"}, {"n"});
      model.Output("n", ElementType::kFloat, {3, 5});
    }
    if (reason == "output") model.Output("b", ElementType::kFloat, {3, 5});
    const Rewriting rewriting(model, {"recognize_gelu", "eliminate_dead_nodes"});
    EXPECT_THAT(rewriting.after(), ::testing::HasSubstr("Tanh")) << reason;
    EXPECT_EQ(rewriting.Difference(), "") << reason;
  }
}

TEST(RecognizeSwish, WithAndWithoutFactor) {
  for (const bool scaled : {false, true}) {
    for (const std::string reason : {"", "read twice", "output", "other operand"}) {
      ModelBuilder model(17);
      model.Input("x", ElementType::kFloat, {3, 5}).Input("z", ElementType::kFloat, {3, 5}).Floats("c", {1}, {1.702f});
      if (scaled) model.Node("Mul", {"c", "x"}, {"u"});
      model.Node("Sigmoid", {scaled ? "u" : "x"}, {"s"});
      model.Node("Mul", {"s", reason == "other operand" ? "z" : "x"}, {"p"});
      model.Node("Add", {"p", "z"}, {"y"});
      model.Output("y", ElementType::kFloat, {3, 5});
      if (reason == "read twice") {
        model.Node("Neg", {"s"}, {"n"});
        model.Output("n", ElementType::kFloat, {3, 5});
      }
      if (reason == "output") model.Output("s", ElementType::kFloat, {3, 5});
      const Rewriting rewriting(model, {"recognize_swish"});
      EXPECT_EQ(rewriting.after(), reason.empty() ? "Swish Add" : rewriting.before()) << reason;
      EXPECT_EQ(rewriting.Difference(1, 3, true), "") << reason;
    }
  }
}

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
