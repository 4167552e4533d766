#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

TEST(DeduplicateConstants, EqualOnesAreOne) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  model.Floats("a", {2}, {1, 2}).Floats("b", {2}, {1, 2}).Floats("c", {2}, {1, 3}).Floats("d", {1, 2}, {1, 2});
  model.Node("Add", {"x", "a"}, {"p"});
  model.Node("Mul", {"p", "b"}, {"q"});
  model.Node("Add", {"q", "c"}, {"r"});
  model.Node("Reshape", {"r", "s"}, {"t"});
  model.Ints("s", {1, 2});
  model.Node("Add", {"t", "d"}, {"u"});
  model.Node("Reshape", {"u", "v"}, {"y"});
  model.Ints("v", {2});
  const Rewriting rewriting(model, {"deduplicate_constants"});
  EXPECT_EQ(rewriting.report().passes[0].changes, 1u);
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(DeduplicateConstants, ThoseThatDifferLateStay) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {100}).Output("y", ElementType::kFloat, {100});
  std::string last = "x";
  for (int i = 0; i < 6; ++i) {
    std::vector<float> values(100, 0.5f);
    values[static_cast<size_t>(99 - i / 3)] = static_cast<float>(i % 3);  // the first 256 bytes are the same in all
    const std::string name = "c" + std::to_string(i), next = i == 5 ? "y" : "v" + std::to_string(i);
    model.Floats(name, {100}, values);
    model.Node("Add", {last, name}, {next});
    last = next;
  }
  model.Floats("again", {100}, [] {
    std::vector<float> values(100, 0.5f);
    values[98] = 2;
    return values;
  }());
  model.Output("z", ElementType::kFloat, {100});
  model.Node("Mul", {"x", "again"}, {"z"});
  const Rewriting rewriting(model, {"deduplicate_constants"});
  EXPECT_EQ(rewriting.report().passes[0].changes, 1u);
  EXPECT_EQ(rewriting.Difference(), "");
}

}  // namespace
}  // namespace tessera::testing
