#include <limits>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

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

}  // namespace
}  // namespace tessera::testing
