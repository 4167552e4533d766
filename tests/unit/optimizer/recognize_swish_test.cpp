#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

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

}  // namespace
}  // namespace tessera::testing
