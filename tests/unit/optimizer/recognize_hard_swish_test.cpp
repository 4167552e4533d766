#include <functional>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

using AddGate = std::function<void(ModelBuilder&)>;  // from x and c, the clipped sum, to y

ModelBuilder Gated(const AddGate& add, float offset = 3, float high = 6) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {-1, 5}).Output("y", ElementType::kFloat, {-1, 5});
  model.Floats("three", {}, {offset}).Floats("zero", {}, {0}).Floats("six", {}, {high}).Floats("sixth", {1}, {1.0f / 6});
  model.Node("Add", {"x", "three"}, {"s"});
  model.Node("Clip", {"s", "zero", "six"}, {"c"});
  add(model);
  return model;
}

const AddGate kSigmoid = [](ModelBuilder& m) { m.Node("Mul", {"sixth", "c"}, {"y"}); };

TEST(RecognizeHardSwish, Spellings) {
  const auto after = [](const AddGate& add) {
    const Rewriting rewriting(Gated(add), {"recognize_hard_swish", "eliminate_dead_nodes"});
    EXPECT_EQ(rewriting.Difference(1, 3, true), "");
    return rewriting.after();
  };
  EXPECT_EQ(after(kSigmoid), "HardSigmoid");
  EXPECT_EQ(after([](ModelBuilder& m) { m.Node("Div", {"c", "six"}, {"y"}); }), "HardSigmoid");
  EXPECT_EQ(after([](ModelBuilder& m) {
              m.Node("Mul", {"c", "sixth"}, {"g"});
              m.Node("Mul", {"x", "g"}, {"y"});
            }),
            "HardSwish");
  EXPECT_EQ(after([](ModelBuilder& m) {
              m.Node("Mul", {"c", "x"}, {"p"});
              m.Node("Div", {"p", "six"}, {"y"});
            }),
            "HardSwish");
}

TEST(RecognizeHardSwish, LeavesOthers) {
  const AddGate other = [](ModelBuilder& m) {
    m.Input("z", ElementType::kFloat, {-1, 5});
    m.Node("Mul", {"c", "z"}, {"p"});
    m.Node("Div", {"p", "six"}, {"y"});
  };
  for (const ModelBuilder& model : {Gated(other), Gated(kSigmoid, 2.5f), Gated(kSigmoid, 3, 5)}) {
    const Rewriting rewriting(model, {"recognize_hard_swish"});
    EXPECT_EQ(rewriting.after(), rewriting.before());
  }
}

}  // namespace
}  // namespace tessera::testing
