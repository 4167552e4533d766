#include <functional>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

ModelBuilder ConvModel(const std::string& op, bool with_bias, int64_t group = 1) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 4, 5, 5}).Output("y", ElementType::kFloat, {2, 6, -1, -1});
  const bool transposed = op == "ConvTranspose";
  if (transposed) {
    model.Floats("w", {4, 6 / group, 3, 3}, Numbers(static_cast<size_t>(4 * 6 / group * 9)));
  } else {
    model.Floats("w", {6, 4 / group, 3, 3}, Numbers(static_cast<size_t>(6 * 4 / group * 9)));
  }
  if (with_bias) model.Floats("b", {6}, Numbers(6, 0.1f));
  auto& node = with_bias ? model.Node(op, {"x", "w", "b"}, {"c"}) : model.Node(op, {"x", "w"}, {"c"});
  Int(node, "group", group);
  return model;
}

void AddBatchNormalization(ModelBuilder& model, const std::string& from, const std::string& to, int64_t channels) {
  const auto count = static_cast<size_t>(channels);
  model.Floats("scale", {channels}, Numbers(count, 1.5f)).Floats("shift", {channels}, Numbers(count, 0.3f));
  model.Floats("mean", {channels}, Numbers(count, 0.2f)).Floats("variance", {channels}, std::vector<float>(count, 0.7f));
  Float(model.Node("BatchNormalization", {from, "scale", "shift", "mean", "variance"}, {to}), "epsilon", 1e-3f);
}

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

INSTANTIATE_TEST_SUITE_P(ConvOrMatMul, FoldIntoConv,
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

TEST(FoldBiases, BroadcastsAreNoBias) {
  ModelBuilder model = ConvModel("Conv", false);
  model.Floats("s", {5, 1}, Numbers(5));
  model.Node("Add", {"c", "s"}, {"y"});
  model.proto().mutable_graph()->mutable_node(0)->mutable_attribute()->Clear();
  Ints(*model.proto().mutable_graph()->mutable_node(0), "pads", {1, 1, 1, 1});
  EXPECT_EQ(Rewriting(model, {"fold_biases"}).after(), "Conv Add");
}

TEST(FoldBiases, MatMulAndAddAreGemm) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, 4})
      .Input("z", ElementType::kFloat, {3})
      .Output("y", ElementType::kFloat, {-1, 3});
  model.Floats("w", {4, 3}, Numbers(12));
  model.Node("Neg", {"z"}, {"n"});
  model.Node("MatMul", {"x", "w"}, {"m"});
  model.Node("Add", {"n", "m"}, {"y"});
  const Rewriting rewriting(model, {"fold_biases"});
  EXPECT_EQ(rewriting.after(), "Neg Gemm");
  EXPECT_EQ(rewriting.Difference(1, 5, true), "");
}

TEST(FoldBiases, MatMulOfOtherRanksStays) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 2, 4}).Output("y", ElementType::kFloat, {2, 2, 3});
  model.Floats("w", {4, 3}, Numbers(12)).Floats("b", {3}, Numbers(3));
  model.Node("MatMul", {"x", "w"}, {"m"});
  model.Node("Add", {"m", "b"}, {"y"});
  EXPECT_EQ(Rewriting(model, {"fold_biases"}).after(), "MatMul Add");

  ModelBuilder wide;  // the sum is larger than the matmul
  wide.Input("x", ElementType::kFloat, {1, 4}).Output("y", ElementType::kFloat, {5, 3});
  wide.Floats("w", {4, 3}, Numbers(12)).Floats("b", {5, 3}, Numbers(15));
  wide.Node("MatMul", {"x", "w"}, {"m"});
  wide.Node("Add", {"m", "b"}, {"y"});
  EXPECT_EQ(Rewriting(wide, {"fold_biases"}).after(), "MatMul Add");
}

TEST(FoldPads, IntoConv) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 2, 4, 4}).Output("y", ElementType::kFloat, {1, 1, -1, -1});
  model.Ints("pads", {0, 0, 1, 0, 0, 0, 2, 1}).Floats("w", {1, 2, 3, 3}, Numbers(18));
  model.Node("Pad", {"x", "pads"}, {"p"});
  Ints(model.Node("Conv", {"p", "w"}, {"y"}), "pads", {0, 1, 0, 0});
  const Rewriting rewriting(model, {"fold_pads", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Conv");
  EXPECT_EQ(rewriting.Difference(1, 3, true), "");
}

TEST(FoldPads, OthersStay) {
  for (const int what : {0, 1, 2}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1, 2, 4, 4}).Output("y", ElementType::kFloat, {1, 1, -1, -1});
    model.Ints("pads", {0, 0, 1, 1, 0, what == 0 ? 1 : 0, 1, what == 1 ? -1 : 1})
        .Floats("w", {1, what == 0 ? 3 : 2, 3, 3}, Numbers(what == 0 ? 27 : 18));
    model.Floats("value", {}, {what == 2 ? 1.0f : 0.0f});
    model.Node("Pad", {"x", "pads", "value"}, {"p"});
    model.Node("Conv", {"p", "w"}, {"y"});
    EXPECT_EQ(Rewriting(model, {"fold_pads"}).after(), "Pad Conv") << what;
  }
}

/// Pad around x, then a pool of 3x2 with a stride of 2 over it; `before` is an operator between x and Pad.
ModelBuilder PaddedPool(const char* pool, const char* before, std::vector<int64_t> pads,
                        const std::function<void(onnx::NodeProto&)>& attributes) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3, 7, 6}).Output("y", ElementType::kFloat, {2, 3, -1, -1});
  model.Ints("pads", std::move(pads));
  model.Node(before, {"x"}, {"b"});
  model.Node("Pad", {"b", "pads"}, {"p"});
  onnx::NodeProto& node = model.Node(pool, {"p"}, {"y"});
  Ints(node, "kernel_shape", {3, 2});
  Ints(node, "strides", {2, 2});
  attributes(node);
  return model;
}

TEST(FoldPads, IntoPools) {
  const auto folded = [](const ModelBuilder& model) {
    const Rewriting rewriting(model, {"fold_pads", "eliminate_dead_nodes"});
    EXPECT_EQ(rewriting.Difference(1, 3, true), "");
    return rewriting.after();
  };
  const auto plain = [](onnx::NodeProto&) {};
  const auto counts = [](onnx::NodeProto& node) {
    Int(node, "count_include_pad", 1);
    Ints(node, "pads", {1, 0, 0, 1});
  };
  EXPECT_EQ(folded(PaddedPool("AveragePool", "Tanh", {0, 0, 1, 1, 0, 0, 2, 0}, plain)), "Tanh AveragePool");
  EXPECT_EQ(folded(PaddedPool("AveragePool", "Tanh", {0, 0, 1, 1, 0, 0, 2, 0}, counts)), "Tanh AveragePool");
  EXPECT_EQ(folded(PaddedPool("MaxPool", "Relu", {0, 0, 1, 1, 0, 0, 2, 0}, plain)), "Relu MaxPool");
}

TEST(FoldPads, OtherPoolsStay) {
  const auto after = [](const char* pool, const char* before, std::vector<int64_t> pads,
                        const std::function<void(onnx::NodeProto&)>& attributes) {
    return Rewriting(PaddedPool(pool, before, std::move(pads), attributes), {"fold_pads"}).after();
  };
  const std::vector<int64_t> ones = {0, 0, 1, 1, 0, 0, 1, 1};
  const auto plain = [](onnx::NodeProto&) {};
  const auto ceil = [](onnx::NodeProto& node) { Int(node, "ceil_mode", 1); };
  const auto uncounted = [](onnx::NodeProto& node) { Ints(node, "pads", {1, 0, 0, 1}); };
  const auto same = [](onnx::NodeProto& node) { Text(node, "auto_pad", "SAME_UPPER"); };
  EXPECT_EQ(after("AveragePool", "Tanh", ones, ceil), "Tanh Pad AveragePool");
  EXPECT_EQ(after("AveragePool", "Tanh", ones, uncounted),
            "Tanh Pad AveragePool");  // its own padding does not count, Pad's does
  EXPECT_EQ(after("AveragePool", "Tanh", ones, same), "Tanh Pad AveragePool");
  EXPECT_EQ(after("AveragePool", "Tanh", {0, 0, 1, 2, 0, 0, 1, 1}, plain),
            "Tanh Pad AveragePool");  // windows of padding alone
  EXPECT_EQ(after("AveragePool", "Tanh", {0, 1, 1, 1, 0, 0, 1, 1}, plain), "Tanh Pad AveragePool");
  EXPECT_EQ(after("MaxPool", "Tanh", ones, plain), "Tanh Pad MaxPool");  // zeros are more than what is there
  EXPECT_EQ(after("MaxPool", "Relu", ones, ceil), "Relu Pad MaxPool");
}

/// A kernel of `kernel` taps on an axis: dilation, stride, padding, size of the image, taps that stay.
struct CroppedAxis {
  int64_t kernel, dilation, stride, begin, end, size, left;
};

TEST(TrimConvKernels, TapsThatOnlyMeetPadding) {
  const std::vector<CroppedAxis> axes = {{3, 24, 1, 24, 24, 20, 1}, {3, 12, 1, 12, 12, 20, 3}, {3, 1, 1, 1, 1, 1, 1},
                                         {5, 2, 1, 4, 4, 3, 3},     {3, 1, 2, 1, 1, 2, 2},     {4, 3, 2, 9, 6, 5, 4},
                                         {3, 2, 1, 4, 0, 2, 1},     {7, 1, 3, 6, 6, 2, 7},     {1, 1, 1, 0, 0, 4, 1}};
  for (size_t i = 0; i < axes.size(); ++i) {
    for (const size_t j : {size_t{0}, size_t{1}, i}) {
      SCOPED_TRACE(::testing::Message() << i << " and " << j);
      const CroppedAxis &h = axes[i], &w = axes[j];
      ModelBuilder model;
      model.Input("x", ElementType::kFloat, {2, 4, h.size, w.size}).Output("y", ElementType::kFloat, {2, 6, -1, -1});
      model.Floats("w", {6, 2, h.kernel, w.kernel}, Numbers(static_cast<size_t>(12 * h.kernel * w.kernel)));
      auto& conv = Int(model.Node("Conv", {"x", "w"}, {"y"}), "group", 2);
      Ints(conv, "dilations", {h.dilation, w.dilation});
      Ints(conv, "strides", {h.stride, w.stride});
      Ints(conv, "pads", {h.begin, w.begin, h.end, w.end});
      const Rewriting rewriting(model, {"trim_conv_kernels", "eliminate_dead_nodes"});
      const Graph& graph = rewriting.graph();
      const Node& left = graph.node(graph.TopologicalOrder()[0]);
      EXPECT_EQ(graph.constant(left.inputs[1])->shape(), (Shape{6, 2, h.left, w.left}));
      EXPECT_EQ(rewriting.Difference(1, 3, true), "");
    }
  }
}

TEST(TrimConvKernels, InfinitiesAndUnknownSizesStay) {
  for (const bool infinite : {false, true}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1, 1, infinite ? 1 : -1, 1}).Output("y", ElementType::kFloat, {1, 1, -1, -1});
    std::vector<float> numbers = Numbers(9);
    if (infinite) numbers[0] = std::numeric_limits<float>::infinity();
    model.Floats("w", {1, 1, 3, 3}, numbers);
    Ints(model.Node("Conv", {"x", "w"}, {"y"}), "pads", {1, 1, 1, 1});
    const Rewriting rewriting(model, {"trim_conv_kernels"});
    EXPECT_EQ(rewriting.graph().constant(rewriting.graph().node(0).inputs[1])->shape(), (Shape{1, 1, 3, 3}));
  }
}

}  // namespace
}  // namespace tessera::testing
