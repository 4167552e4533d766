#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

TEST(MergeCasts, OnlyWhatLosesNothing) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {8}).Input("i", ElementType::kInt64, {8});
  model.Output("y", ElementType::kFloat, {8}).Output("z", ElementType::kInt64, {8}).Output("w", ElementType::kInt32, {8});
  const auto cast = [&](const char* from, const char* to, ElementType type) {
    Int(model.Node("Cast", {from}, {to}), "to", static_cast<int64_t>(type));
  };
  cast("x", "a", ElementType::kDouble);
  cast("a", "b", ElementType::kFloat);  // back
  model.Node("Neg", {"b"}, {"y"});
  cast("i", "c", ElementType::kFloat);  // loses
  cast("c", "z", ElementType::kInt64);
  cast("x", "d", ElementType::kDouble);
  cast("d", "w", ElementType::kInt32);  // directly
  const Rewriting rewriting(model, {"merge_casts", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Neg Cast Cast Cast");
  EXPECT_EQ(rewriting.Difference(), "");
}

}  // namespace
}  // namespace tessera::testing
