#include "attributes.h"
#include "optimizer/conv_model.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

struct FoldCase {
  std::string name, op;
  bool with_bias;
  int64_t group;
};

class FoldIntoConv : public ::testing::TestWithParam<FoldCase> {
 protected:
  ModelBuilder Model() const { return ConvModel(GetParam().op, GetParam().with_bias, GetParam().group); }
};

TEST_P(FoldIntoConv, BatchNormalization) {
  ModelBuilder model = Model();
  AddBatchNormalization(model, "c", "y", 6);
  const Rewriting rewriting(model, {"fold_scales"});
  EXPECT_EQ(rewriting.after(), GetParam().op);
  EXPECT_EQ(rewriting.Difference(1, 3, true), "");
}

TEST_P(FoldIntoConv, ScaleAndSum) {
  ModelBuilder model = Model();
  model.Floats("f", {6, 1, 1}, Numbers(6, 1.5f)).Floats("s", {1, 6, 1, 1}, Numbers(6, 0.3f)).Floats("t", {}, {2.5f});
  model.Node("Mul", {"f", "c"}, {"m"});
  model.Node("Add", {"m", "s"}, {"a"});
  model.Node("Sub", {"a", "t"}, {"y"});
  const Rewriting rewriting(model, {"fold_scales", "fold_biases"});
  EXPECT_EQ(rewriting.after(), GetParam().op);
  EXPECT_EQ(rewriting.Difference(1, 3, true), "");
}

INSTANTIATE_TEST_SUITE_P(ConvOrConvTranspose, FoldIntoConv,
                         ::testing::Values(FoldCase{"Conv", "Conv", false, 1}, FoldCase{"ConvWithBias", "Conv", true, 1},
                                           FoldCase{"GroupedConv", "Conv", true, 2},
                                           FoldCase{"ConvTranspose", "ConvTranspose", false, 1},
                                           FoldCase{"GroupedConvTranspose", "ConvTranspose", true, 2}),
                         [](const auto& info) { return info.param.name; });

TEST(FoldScales, LeavesGroupsThatTheKernelRefuses) {
  for (const char* op : {"Conv", "ConvTranspose"}) {
    for (const int64_t group : {0, -1}) {
      ModelBuilder model = ConvModel(op, true);
      model.proto().mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_i(group);
      model.Floats("f", {}, {1.5f});
      model.Node("Mul", {"c", "f"}, {"y"});
      const Rewriting rewriting(model, {"fold_scales"});
      EXPECT_EQ(rewriting.after(), rewriting.before()) << group;
    }
  }
}

TEST(FoldScales, LeavesWhatOthersRead) {
  ModelBuilder model = ConvModel("Conv", true);
  model.Output("z", ElementType::kFloat, {2, 6, -1, -1});
  AddBatchNormalization(model, "c", "y", 6);
  model.Node("Relu", {"c"}, {"z"});
  EXPECT_EQ(Rewriting(model, {"fold_scales"}).after(), "Conv BatchNormalization Relu");
}

/// BatchNormalization of MatMul's rows as LeViT is exported.
ModelBuilder NormalizedRows(const std::vector<int64_t>& matrix, const std::string& read_twice = "") {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {2, 5, 4}).Output("y", ElementType::kFloat, {2, 5, 3});
  model.Floats("w", {4, 3}, Numbers(12)).Ints("matrix", matrix).Ints("back", {2, 5, 3});
  model.Node("MatMul", {"x", "w"}, {"p"});
  model.Node("Reshape", {"p", "matrix"}, {"m"});
  AddBatchNormalization(model, "m", "n", matrix.back());
  model.Node("Reshape", {"n", "back"}, {"y"});
  if (!read_twice.empty()) {
    model.Node("Neg", {read_twice}, {"z"});
    model.Output("z", ElementType::kFloat, read_twice == "p" ? std::vector<int64_t>{2, 5, 3} : matrix);
  }
  return model;
}

TEST(FoldScales, IntoRowsLaidOutAsMatrix) {
  const Rewriting rewriting(NormalizedRows({10, 3}), {"fold_scales"});
  EXPECT_EQ(rewriting.after(), "MatMul Add Reshape Reshape");
  EXPECT_EQ(rewriting.Difference(1, 3, true), "");
  for (const ModelBuilder& other : {NormalizedRows({5, 6}), NormalizedRows({10, 3}, "p"), NormalizedRows({10, 3}, "m")}) {
    const Rewriting stays(other, {"fold_scales"});
    EXPECT_EQ(stays.after(), stays.before());
    EXPECT_EQ(stays.Difference(), "");
  }
}

TEST(FoldScales, IntoGemm) {
  for (const bool transposed : {false, true}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {2, 4}).Output("y", ElementType::kFloat, {2, 3});
    if (transposed) {
      model.Floats("w", {3, 4}, Numbers(12));
    } else {
      model.Floats("w", {4, 3}, Numbers(12));
    }
    model.Floats("b", {1, 3}, Numbers(3));
    auto& gemm = Int(model.Node("Gemm", {"x", "w", "b"}, {"c"}), "transB", transposed);
    Float(Float(gemm, "alpha", 0.5f), "beta", 2.0f);
    AddBatchNormalization(model, "c", "y", 3);
    const Rewriting rewriting(model, {"fold_scales"});
    EXPECT_EQ(rewriting.after(), "Gemm");
    EXPECT_EQ(rewriting.Difference(1, 3, true), "");
  }
}

TEST(FoldScales, TrainingStays) {
  ModelBuilder model = ConvModel("Conv", true);
  AddBatchNormalization(model, "c", "y", 6);
  Int(*model.proto().mutable_graph()->mutable_node(1), "training_mode", 1);
  model.proto().mutable_graph()->mutable_node(1)->add_output("running_mean");
  model.proto().mutable_graph()->mutable_node(1)->add_output("running_variance");
  EXPECT_EQ(Rewriting(model, {"fold_scales"}).after(), "Conv BatchNormalization");
}

}  // namespace
}  // namespace tessera::testing
