#include <limits>

#include "attributes.h"
#include "optimizer/rewriting.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::testing {
namespace {

TEST(FoldConstants, ComputesWhatDependsOnNothing) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 2}).Output("y", ElementType::kFloat, {2, 2});
  model.Floats("a", {2, 2}, {1, 2, 3, 4}).Floats("b", {2}, {10, 20});
  model.Node("Transpose", {"a"}, {"t"});
  model.Node("Add", {"t", "b"}, {"c"});
  model.Node("Mul", {"x", "c"}, {"y"});
  const Rewriting rewriting(model, {"fold_constants"});
  EXPECT_EQ(rewriting.before(), "Transpose Add Mul");
  EXPECT_EQ(rewriting.after(), "Mul");
  EXPECT_EQ(rewriting.report().passes[0].changes, 2u);
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(FoldConstants, OutputsMayBeConstant) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1}).Output("y", ElementType::kFloat, {2}).Output("z", ElementType::kFloat, {1});
  model.Floats("a", {2}, {1, -2});
  model.Node("Relu", {"a"}, {"y"});
  model.Node("Neg", {"x"}, {"z"});
  const Rewriting rewriting(model, {"fold_constants", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Neg");
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(FoldConstants, OverridableInitializersAreNotConstant) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Input("w", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  model.Floats("w", {2}, {1, 2});
  model.Node("Neg", {"w"}, {"n"});
  model.Node("Add", {"x", "n"}, {"y"});
  EXPECT_EQ(Rewriting(model, {"fold_constants"}).after(), "Neg Add");
}

TEST(FoldConstants, ErrorsComeWhenTheModelRuns) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {-1});
  model.Floats("a", {3}, {1, 2, 3}).Ints("i", {7});
  model.Node("Gather", {"a", "i"}, {"g"});
  model.Node("Add", {"x", "g"}, {"y"});
  const Rewriting rewriting(model, {});
  EXPECT_EQ(rewriting.after(), "Gather Add");
}

TEST(FoldConstants, LeavesWhatWouldTakeMuchMemory) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1}).Output("y", ElementType::kFloat, {1000, 1000});
  model.Floats("one", {1}, {1}).Ints("big", {1000, 1000}).Ints("small", {100, 100});
  model.Node("Expand", {"one", "big"}, {"a"});
  model.Node("Add", {"a", "x"}, {"y"});
  EXPECT_EQ(Rewriting(model, {}).after(), "Expand Add");

  ModelBuilder chain;  // each doubles
  chain.Input("x", ElementType::kFloat, {1}).Output("y", ElementType::kFloat, {-1});
  chain.Floats("v0", {1}, {1});
  for (int i = 0; i < 40; ++i) {
    const std::string from = "v" + std::to_string(i);
    Int(chain.Node("Concat", {from, from}, {"v" + std::to_string(i + 1)}), "axis", 0);
  }
  chain.Node("Add", {"v40", "x"}, {"y"});
  const Rewriting rewriting(chain, {});
  EXPECT_LT(rewriting.report().passes[1].changes, 30u);
  EXPECT_THAT(rewriting.after(), ::testing::HasSubstr("Concat Concat"));
}

TEST(FoldConstants, RandomNumbersStayRandom) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  Ints(model.Node("RandomNormal", {}, {"r"}), "shape", {2});
  Ints(model.Node("RandomNormal", {}, {"s"}), "shape", {2});
  model.Node("Add", {"r", "s"}, {"t"});
  model.Node("Add", {"x", "t"}, {"y"});
  EXPECT_EQ(Rewriting(model, {}).after(), "RandomNormal RandomNormal Add Add");
}

TEST(FoldShapes, FollowsShapesThatAreKnown) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, 3, 4}).Output("y", ElementType::kFloat, {-1, 12});
  model.Ints("one", {1}).Ints("two", {2}).Ints("minus", {-1});
  model.Node("Shape", {"x"}, {"s"});
  model.Node("Gather", {"s", "one"}, {"h"});
  model.Node("Gather", {"s", "two"}, {"w"});
  model.Node("Mul", {"h", "w"}, {"hw"});
  Int(model.Node("Concat", {"minus", "hw"}, {"t"}), "axis", 0);
  model.Node("Reshape", {"x", "t"}, {"y"});
  const Rewriting rewriting(model, {"fold_shapes", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.before(), "Shape Gather Gather Mul Concat Reshape");
  EXPECT_EQ(rewriting.after(), "Reshape");
  EXPECT_EQ(rewriting.Difference(), "");
}

/// Pads x as a list that starts with the last dimension says: exporters turn its pairs around as rows of a matrix. y is
/// reshaped to the last dimension of what comes of it.
ModelBuilder PadsAsMatrix(const std::vector<int64_t>& perm) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {2, 3, 4}).Output("y", ElementType::kFloat, {-1, -1});
  model.Ints("known", {1, 2}).Ints("others", {3, 0, 0, 0}).Ints("pairs", {-1, 2}).Ints("flat", {-1}).Ints("two", {2});
  model.Ints("last", {-1}).Ints("first", {std::numeric_limits<int64_t>::min() + 1}).Ints("axis", {0}).Ints("back", {-1});
  Int(model.Node("Concat", {"known", "others"}, {"pads"}), "axis", 0);
  model.Node("Reshape", {"pads", "pairs"}, {"matrix"});
  model.Node("Slice", {"matrix", "last", "first", "axis", "back"}, {"reversed"});
  Transpose(model, "reversed", "turned", perm);
  model.Node("Reshape", {"turned", "flat"}, {"all"});
  model.Node("Pad", {"x", "all"}, {"padded"});
  model.Node("Shape", {"padded"}, {"s"});
  model.Node("Gather", {"s", "two"}, {"w"});
  Int(model.Node("Concat", {"flat", "w"}, {"t"}), "axis", 0);
  model.Node("Reshape", {"padded", "t"}, {"y"});
  return model;
}

TEST(FoldShapes, PadsAsMatrix) {
  for (const std::vector<int64_t>& perm : {std::vector<int64_t>{1, 0}, {0, 1}}) {
    const Rewriting rewriting(PadsAsMatrix(perm), {"fold_shapes", "eliminate_dead_nodes"});
    if (perm[0] == 1) {
      EXPECT_EQ(rewriting.after(), "Pad Reshape");
    }
    EXPECT_EQ(rewriting.Difference(), "");
  }
}

/// Reshape of x to what `parts` name: a dimension of x, or a constant.
ModelBuilder ReshapeTo(const std::vector<std::string>& parts) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, -1, 12})
      .Output("y", ElementType::kFloat, std::vector<int64_t>(parts.size(), -1));
  model.NameDim("x", 0, "batch").NameDim("x", 1, "rows");
  model.Ints("0", {0}).Ints("1", {1}).Ints("three", {3}).Ints("four", {4}).Ints("twelve", {12});
  model.Node("Shape", {"x"}, {"s"});
  model.Node("Gather", {"s", "0"}, {"batch"});
  model.Node("Gather", {"s", "1"}, {"rows"});
  model.Node("Mul", {"rows", "batch"}, {"all"});
  auto* concat = model.proto().mutable_graph()->add_node();
  concat->set_op_type("Concat");
  for (const std::string& part : parts) concat->add_input(part);
  concat->add_output("t");
  Int(*concat, "axis", 0);
  model.Node("Reshape", {"x", "t"}, {"y"});
  return model;
}

TEST(FoldShapes, TargetsOfTheInputsOwnDimensions) {
  for (const auto& parts : std::vector<std::vector<std::string>>{
           {"batch", "rows", "three", "four"}, {"all", "twelve"}, {"all", "three", "four"}, {"twelve", "all"}}) {
    const Rewriting rewriting(ReshapeTo(parts), {"fold_shapes", "eliminate_dead_nodes"});
    EXPECT_EQ(rewriting.after(), "Reshape") << parts[0];
    for (const int64_t size : {0, 1, 3}) EXPECT_EQ(rewriting.Difference(1, size), "") << parts[0] << " of " << size;
  }
}

TEST(FoldShapes, LeavesTargetsThatMayFail) {
  for (const auto& parts :
       std::vector<std::vector<std::string>>{{"all", "four"}, {"rows", "twelve"}, {"rows", "batch", "twelve"}}) {
    const Rewriting rewriting(ReshapeTo(parts), {"fold_shapes"});
    EXPECT_EQ(rewriting.after(), rewriting.before()) << parts[0];
  }
}

TEST(FoldShapes, TruthOfASizeIsNotTheSize) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1}).Output("y", ElementType::kBool, {1});
  model.Node("Shape", {"x"}, {"s"});
  Int(model.Node("Cast", {"s"}, {"b"}), "to", static_cast<int64_t>(ElementType::kBool));
  Int(model.Node("Cast", {"b"}, {"n"}), "to", static_cast<int64_t>(ElementType::kInt64));
  model.Node("Equal", {"n", "s"}, {"y"});
  const Rewriting rewriting(model, {"fold_shapes"});
  for (const int64_t size : {0, 1, 3}) EXPECT_EQ(rewriting.Difference(1, size), "") << size;
}

TEST(FoldShapes, RowsOfAMatrixOfUnknownShapeAreNoElements) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3, 4, 5})
      .Input("t", ElementType::kInt64, {-1})
      .Output("y", ElementType::kFloat, {-1, -1});
  model.Ints("second", {1}).Ints("flat", {-1});
  model.Node("Shape", {"x"}, {"s"});
  model.Node("Reshape", {"s", "t"}, {"matrix"});
  model.Node("Gather", {"matrix", "second"}, {"row"});
  model.Node("Reshape", {"row", "flat"}, {"sizes"});
  model.Node("ConstantOfShape", {"sizes"}, {"zeros"});
  model.Node("Neg", {"zeros"}, {"y"});
  const Rewriting rewriting(model, {"fold_shapes", "fold_constants"});
  const std::vector<float> numbers(120);
  const std::vector<int64_t> two = {2, 2};
  EXPECT_EQ(rewriting.Difference({Tensor::Of<float>({2, 3, 4, 5}, numbers), Tensor::Of<int64_t>({2}, two)}), "");
}

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

TEST(EliminateCommonSubexpressions, OneComputesForAll) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 2}).Output("y", ElementType::kFloat, {2, 2});
  Ints(model.Node("Transpose", {"x"}, {"a"}), "perm", {1, 0});
  Ints(model.Node("Transpose", {"x"}, {"b"}), "perm", {1, 0});
  model.Node("Relu", {"a"}, {"c"});
  model.Node("Relu", {"b"}, {"d"});
  model.Node("Add", {"c", "d"}, {"y"});
  const Rewriting rewriting(model, {"eliminate_common_subexpressions"});
  EXPECT_EQ(rewriting.after(), "Transpose Relu Add");
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(EliminateCommonSubexpressions, AttributesAndOutputsDiffer) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 2})
      .Output("y", ElementType::kFloat, {2, 2})
      .Output("z", ElementType::kFloat, {2, 2});
  model.Output("w", ElementType::kFloat, {2, 2});
  Float(model.Node("LeakyRelu", {"x"}, {"a"}), "alpha", 0.0f);
  Float(model.Node("LeakyRelu", {"x"}, {"b"}), "alpha", -0.0f);
  model.Node("Sub", {"a", "b"}, {"y"});
  model.Node("Neg", {"x"}, {"n"});
  model.Node("Neg", {"x"}, {"z"});  // the output's name stays
  model.Node("Neg", {"x"}, {"w"});
  model.Node("Exp", {"n"}, {"e"});
  const Rewriting rewriting(model, {"eliminate_common_subexpressions"});
  EXPECT_EQ(rewriting.after(), "LeakyRelu LeakyRelu Sub Neg Neg Exp");
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(EliminateCommonSubexpressions, AttributesInAnyOrder) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 2}).Output("y", ElementType::kFloat, {2, 2});
  Float(Float(model.Node("HardSigmoid", {"x"}, {"a"}), "alpha", 0.5f), "beta", 0.25f);
  Float(Float(model.Node("HardSigmoid", {"x"}, {"b"}), "beta", 0.25f), "alpha", 0.5f);
  Float(Float(model.Node("HardSigmoid", {"x"}, {"c"}), "alpha", 0.25f), "beta", 0.5f);
  model.Node("Sum", {"a", "b", "c"}, {"y"});
  const Rewriting rewriting(model, {"eliminate_common_subexpressions"});
  EXPECT_EQ(rewriting.after(), "HardSigmoid HardSigmoid Sum");
  EXPECT_EQ(rewriting.Difference(), "");
}

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
