#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

TEST(EliminateDeadNodes, NobodyReadsThem) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 1, 4, 4}).Output("y", ElementType::kFloat, {1, 1, 2, 2});
  model.Floats("unused", {1}, {1});
  model.Node("Neg", {"x"}, {"a"});
  model.Node("Exp", {"a"}, {"b"});
  auto& pool = model.Node("MaxPool", {"x"}, {"y", "indices"});
  Ints(Ints(pool, "kernel_shape", {2, 2}), "strides", {2, 2});
  const Rewriting rewriting(model, {"eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "MaxPool");
  EXPECT_EQ(rewriting.graph().node(rewriting.graph().TopologicalOrder()[0]).outputs.size(), 1u);
  EXPECT_EQ(rewriting.Difference(), "");
}

}  // namespace
}  // namespace tessera::testing
