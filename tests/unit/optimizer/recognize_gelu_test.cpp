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

}  // namespace
}  // namespace tessera::testing
