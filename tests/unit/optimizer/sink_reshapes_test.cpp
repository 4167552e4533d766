#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

const std::vector<std::string> kAlone = {"sink_reshapes", "eliminate_dead_nodes"};

/// Attention of 2 * 3 heads as decoders are exported: matmuls of three dimensions, the mask added to four.
ModelBuilder MergedHeads(bool floored) {
  ModelBuilder model(17);
  model.Ints("split", {2, 5, 3, 8}).Ints("merged", {6, -1, 8}).Ints("parted", {2, 3, 5, 5}).Ints("scores", {6, 5, 5});
  model.Ints("heads", {2, 3, 5, 8}).Ints("joined", {2, 5, 24}).Floats("lowest", {}, {-3.4028234663852886e38f});
  for (const std::string value : {"q", "k", "v"}) {
    model.Input(value, ElementType::kFloat, {2, 5, 24});
    model.Node("Reshape", {value, "split"}, {value + "r"});
    Transpose(model, value + "r", value + "t", {0, 2, 1, 3});
    model.Node("Reshape", {value + "t", "merged"}, {value + "m"});
  }
  Transpose(model, "km", "keys", {0, 2, 1});
  model.Node("MatMul", {"qm", "keys"}, {"s"});
  model.Node("Reshape", {"s", "parted"}, {"s4"});
  model.Input("mask", ElementType::kFloat, {2, 1, 5, 5});
  model.Node("Add", {"s4", "mask"}, {"a"});
  if (floored) model.Node("Max", {"a", "lowest"}, {"f"});
  model.Node("Reshape", {floored ? "f" : "a", "scores"}, {"s3"});
  Int(model.Node("Softmax", {"s3"}, {"p"}), "axis", -1);
  model.Node("MatMul", {"p", "vm"}, {"o"});
  model.Node("Reshape", {"o", "heads"}, {"o4"});
  Transpose(model, "o4", "ot", {0, 2, 1, 3});
  model.Node("Reshape", {"ot", "joined"}, {"y"});
  model.Output("y", ElementType::kFloat, {2, 5, 24});
  return model;
}

TEST(SinkReshapes, LeavesAttentionWithoutThem) {
  for (const bool floored : {false, true}) {
    const ModelBuilder model = MergedHeads(floored);
    const Rewriting alone(model, kAlone);
    EXPECT_EQ(alone.after(), floored
                                 ? "Reshape Transpose Reshape Transpose Reshape Transpose Transpose MatMul Add Max Softmax "
                                   "MatMul Transpose Reshape"
                                 : "Reshape Transpose Reshape Transpose Reshape Transpose Transpose MatMul Add Softmax "
                                   "MatMul Transpose Reshape");
    EXPECT_EQ(alone.Difference(1, 3, true), "");
  }
}

TEST(SinkReshapes, AttentionIsRecognizedAfterwards) {
  for (const bool floored : {false, true}) {
    ModelBuilder model = MergedHeads(floored);
    SessionOptions options;
    options.providers = {{"cpu", {}}};
    const Session session = model.Session(options);
    std::multiset<std::string> operators;
    for (const PlacementReport::NodeEntry& node : session.placement().nodes) operators.insert(node.op_type);
    EXPECT_EQ(operators.count("Attention"), 1u);
    EXPECT_EQ(operators.count("Softmax") + operators.count("Transpose") + operators.count("Reshape"), 0u);
  }
}

/// y = op(Reshape(x), other), and the Reshape back.
ModelBuilder Binary(const std::string& op, const std::vector<int64_t>& other,
                    const std::vector<int64_t>& target = {6, 4, 5}) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {2, 3, 4, 5}).Input("o", ElementType::kFloat, other);
  model.Ints("merged", target).Ints("parted", {2, 3, 4, -1});
  model.Node("Reshape", {"x", "merged"}, {"m"});
  model.Node(op, {"m", "o"}, {"r"});
  model.Node("Reshape", {"r", "parted"}, {"y"});
  model.Output("y", ElementType::kFloat, {2, 3, 4, -1});
  return model;
}

TEST(SinkReshapes, OtherOperands) {
  const auto after = [](const ModelBuilder& model) {
    const Rewriting rewriting(model, kAlone);
    EXPECT_EQ(rewriting.Difference(1, 3, true), "");
    return rewriting.after();
  };
  EXPECT_EQ(after(Binary("Add", {})), "Add");
  EXPECT_EQ(after(Binary("Sub", {5})), "Sub");
  EXPECT_EQ(after(Binary("Mul", {4, 1})), "Mul");
  EXPECT_EQ(after(Binary("Max", {1, 4, 5})), "Max");
  EXPECT_EQ(after(Binary("Pow", {5})), "Pow");
  EXPECT_EQ(after(Binary("Mean", {5})), "Mean");
  EXPECT_EQ(after(Binary("PRelu", {1, 4, 5})), "PRelu");
  EXPECT_EQ(after(Binary("PRelu", {6, 1, 1})), "Reshape PRelu");
  EXPECT_EQ(after(Binary("Div", {6, 1, 5})), "Reshape Div");
  EXPECT_EQ(after(Binary("MatMul", {6, 5, 7})), "Reshape MatMul");
}

TEST(SinkReshapes, OfOneOperand) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {2, 3, 4, 5}).Output("y", ElementType::kFloat, {2, 3, 4, 5});
  model.Ints("merged", {6, 4, 5}).Ints("parted", {2, 3, 4, 5}).Floats("low", {}, {-1}).Floats("high", {}, {1});
  model.Node("Reshape", {"x", "merged"}, {"m"});
  model.Node("Tanh", {"m"}, {"t"});
  model.Node("Clip", {"t", "low", "high"}, {"c"});
  model.Node("Reshape", {"c", "parted"}, {"y"});
  const Rewriting rewriting(model, kAlone);
  EXPECT_EQ(rewriting.after(), "Tanh Clip");
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(SinkReshapes, StaysWhereItMustNot) {
  const auto stays = [](const ModelBuilder& model) {
    const Rewriting rewriting(model, kAlone);
    EXPECT_EQ(rewriting.after(), rewriting.before());
    EXPECT_EQ(rewriting.Difference(), "");
  };
  stays(Binary("LayerNormalization", {5}));  // not elementwise
  stays(Binary("MatMul", {5, 7}));           // one matrix for all: rows may as well be merged

  ModelBuilder other_rows(17);  // the Reshape does not merge just the first two dimensions
  other_rows.Input("x", ElementType::kFloat, {2, 3, 4, 5}).Output("y", ElementType::kFloat, {3, 8, 5});
  other_rows.Ints("merged", {3, 8, 5});
  other_rows.Node("Reshape", {"x", "merged"}, {"m"});
  Int(other_rows.Node("Softmax", {"m"}, {"y"}), "axis", -1);
  stays(other_rows);

  ModelBuilder other_axis(17);
  other_axis.Input("x", ElementType::kFloat, {2, 3, 4, 5}).Output("y", ElementType::kFloat, {6, 4, 5});
  other_axis.Ints("merged", {6, 4, 5});
  other_axis.Node("Reshape", {"x", "merged"}, {"m"});
  Int(other_axis.Node("Softmax", {"m"}, {"y"}), "axis", 0);
  stays(other_axis);

  ModelBuilder unknown(17);  // the batch is not known
  unknown.Input("x", ElementType::kFloat, {-1, 3, 4, 5}).Output("y", ElementType::kFloat, {-1, 4, 5});
  unknown.Ints("merged", {-1, 4, 5});
  unknown.Node("Reshape", {"x", "merged"}, {"m"});
  Int(unknown.Node("Softmax", {"m"}, {"y"}), "axis", -1);
  stays(unknown);
}

TEST(SinkReshapes, OutputsAndOtherReadersKeepTheirValues) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {2, 3, 4, 5}).Ints("merged", {6, 4, 5}).Floats("two", {}, {2});
  model.Node("Reshape", {"x", "merged"}, {"m"});
  model.Node("Mul", {"m", "two"}, {"y"});
  model.Node("ReduceMax", {"m"}, {"z"});
  model.Output("y", ElementType::kFloat, {6, 4, 5}).Output("m", ElementType::kFloat, {6, 4, 5});
  model.Output("z", ElementType::kFloat, {1, 1, 1});
  const Rewriting rewriting(model, kAlone);
  EXPECT_EQ(rewriting.Difference(), "");
  EXPECT_THAT(rewriting.after(), ::testing::HasSubstr("ReduceMax"));
}

}  // namespace
}  // namespace tessera::testing
