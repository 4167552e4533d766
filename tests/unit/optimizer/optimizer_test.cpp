#include "optimizer/rewriting.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::testing {
namespace {

TEST(Optimizer, ReportsEachPass) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  model.Node("Identity", {"x"}, {"a"});
  model.Node("Neg", {"a"}, {"y"});
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  const OptimizationReport report = model.Session(options).optimization();
  EXPECT_EQ(report.nodes_before, 2u);
  EXPECT_EQ(report.nodes_after, 1u);
  EXPECT_EQ(report.passes.size(), Rewrites().size() + FindProvider("cpu")->lowering().size());
  EXPECT_THAT(report.ToText(), ::testing::HasSubstr("2 nodes -> 1"));
  EXPECT_THAT(report.ToJson(), ::testing::HasSubstr("eliminate_identities"));
  options.optimization_level = OptimizationLevel::kNone;
  EXPECT_TRUE(model.Session(options).optimization().passes.empty());
}

}  // namespace
}  // namespace tessera::testing
