#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

std::vector<float> Numbers(size_t count, float first = 0.5f) {
  std::vector<float> numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(first + static_cast<float>(i % 7) * 0.25f - static_cast<float>(i % 3));
  return numbers;
}

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

struct ConvCase {
  std::string name, op;
  bool with_bias;
  int64_t group;
};

class FoldIntoConv : public ::testing::TestWithParam<ConvCase> {
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

TEST_P(FoldIntoConv, FactorAndSum) {
  ModelBuilder model = Model();
  model.Floats("f", {6, 1, 1}, Numbers(6, 1.5f)).Floats("s", {1, 6, 1, 1}, Numbers(6, 0.3f)).Floats("t", {}, {2.5f});
  model.Node("Mul", {"f", "c"}, {"m"});
  model.Node("Add", {"m", "s"}, {"a"});
  model.Node("Sub", {"a", "t"}, {"y"});
  const Rewriting rewriting(model, {"fold_scales", "fold_biases"});
  EXPECT_EQ(rewriting.after(), GetParam().op);
  EXPECT_EQ(rewriting.Difference(1, 3, true), "");
}

INSTANTIATE_TEST_SUITE_P(Products, FoldIntoConv,
                         ::testing::Values(ConvCase{"Conv", "Conv", false, 1}, ConvCase{"ConvWithBias", "Conv", true, 1},
                                           ConvCase{"GroupedConv", "Conv", true, 2},
                                           ConvCase{"ConvTranspose", "ConvTranspose", false, 1},
                                           ConvCase{"GroupedConvTranspose", "ConvTranspose", true, 2}),
                         [](const auto& info) { return info.param.name; });

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
  model.Input("x", ElementType::kFloat, {-1, 4}).Input("z", ElementType::kFloat, {3}).Output("y", ElementType::kFloat, {-1, 3});
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

  ModelBuilder wide;  // the sum is larger than the product
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
    model.Ints("pads", {0, 0, 1, 1, 0, what == 0 ? 1 : 0, 1, what == 1 ? -1 : 1}).Floats("w", {1, what == 0 ? 3 : 2, 3, 3}, Numbers(what == 0 ? 27 : 18));
    model.Floats("value", {}, {what == 2 ? 1.0f : 0.0f});
    model.Node("Pad", {"x", "pads", "value"}, {"p"});
    model.Node("Conv", {"p", "w"}, {"y"});
    EXPECT_EQ(Rewriting(model, {"fold_pads"}).after(), "Pad Conv") << what;
  }
}

/// A kernel of `kernel` taps on an axis: dilation, stride, padding, size of the image, taps that stay.
struct CroppedAxis {
  int64_t kernel, dilation, stride, begin, end, size, left;
};

TEST(CropKernels, TapsThatOnlyMeetPadding) {
  const std::vector<CroppedAxis> axes = {{3, 24, 1, 24, 24, 20, 1}, {3, 12, 1, 12, 12, 20, 3}, {3, 1, 1, 1, 1, 1, 1}, {5, 2, 1, 4, 4, 3, 3},
                                         {3, 1, 2, 1, 1, 2, 2},     {4, 3, 2, 9, 6, 5, 4},     {3, 2, 1, 4, 0, 2, 1}, {7, 1, 3, 6, 6, 2, 7},
                                         {1, 1, 1, 0, 0, 4, 1}};
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
      const Rewriting rewriting(model, {"crop_kernels", "eliminate_dead_nodes"});
      const Graph& graph = rewriting.graph();
      const Node& left = graph.node(graph.TopologicalOrder()[0]);
      EXPECT_EQ(graph.constant(left.inputs[1])->shape(), (Shape{6, 2, h.left, w.left}));
      EXPECT_EQ(rewriting.Difference(1, 3, true), "");
    }
  }
}

TEST(CropKernels, InfinitiesAndUnknownSizesStay) {
  for (const bool infinite : {false, true}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1, 1, infinite ? 1 : -1, 1}).Output("y", ElementType::kFloat, {1, 1, -1, -1});
    std::vector<float> numbers = Numbers(9);
    if (infinite) numbers[0] = std::numeric_limits<float>::infinity();
    model.Floats("w", {1, 1, 3, 3}, numbers);
    Ints(model.Node("Conv", {"x", "w"}, {"y"}), "pads", {1, 1, 1, 1});
    const Rewriting rewriting(model, {"crop_kernels"});
    EXPECT_EQ(rewriting.graph().constant(rewriting.graph().node(0).inputs[1])->shape(), (Shape{1, 1, 3, 3}));
  }
}

TEST(FuseTransposes, PairsCancel) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3, 4}).Output("y", ElementType::kFloat, {2, 3, 4}).Output("z", ElementType::kFloat, {4, 2, 3});
  Ints(model.Node("Transpose", {"x"}, {"a"}), "perm", {1, 2, 0});
  Ints(model.Node("Transpose", {"a"}, {"b"}), "perm", {2, 0, 1});
  Ints(model.Node("Transpose", {"a"}, {"z"}), "perm", {1, 2, 0});
  model.Node("Relu", {"b"}, {"y"});
  const Rewriting rewriting(model, {"fuse_transposes", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Transpose Relu");
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(FuseTransposes, OverElementwiseOperators) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3, 4}).Output("y", ElementType::kFloat, {2, 3, 4});
  Ints(model.Node("Transpose", {"x"}, {"a"}), "perm", {0, 2, 1});
  model.Node("Relu", {"a"}, {"b"});
  Int(model.Node("Cast", {"b"}, {"c"}), "to", static_cast<int64_t>(ElementType::kDouble));
  model.Node("Neg", {"c"}, {"d"});
  Int(model.Node("Cast", {"d"}, {"e"}), "to", static_cast<int64_t>(ElementType::kFloat));
  Ints(model.Node("Transpose", {"e"}, {"y"}), "perm", {0, 2, 1});
  const Rewriting rewriting(model, {"fuse_transposes", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Relu Cast Neg Cast");
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(FuseTransposes, IntoGemmAndMatMul) {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, {4, -1}).Input("b", ElementType::kFloat, {3, 4}).Output("y", ElementType::kFloat, {-1, 3});
  model.Output("z", ElementType::kFloat, {-1, 3});
  model.Node("Transpose", {"a"}, {"s"});
  model.Node("Transpose", {"b"}, {"t"});
  model.Node("MatMul", {"s", "t"}, {"y"});
  Int(model.Node("Gemm", {"a", "t"}, {"z"}), "transA", 1);
  const Rewriting rewriting(model, {"fuse_transposes", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Gemm Gemm");
  EXPECT_EQ(rewriting.Difference(1, 5, true), "");
}

struct ReshapeCase {
  std::string name, after;
  std::function<void(ModelBuilder&)> add;  // from x to b
  std::initializer_list<int64_t> dims;
};

const ReshapeCase kReshapes[] = {
    {"Chain", "Reshape Neg",
     [](ModelBuilder& m) {
       m.Ints("s", {2, 6}).Ints("t", {3, 4});
       m.Node("Reshape", {"x", "s"}, {"a"});
       m.Node("Reshape", {"a", "t"}, {"b"});
     },
     {2, 2, 3}},
    {"ChainThatMayFail", "Reshape Reshape Neg",
     [](ModelBuilder& m) {
       m.Ints("s", {2, 6}).Ints("t", {3, -1});
       m.Node("Reshape", {"x", "s"}, {"a"});
       m.Node("Reshape", {"a", "t"}, {"b"});
     },
     {-1, 4}},
    {"ChainOfUnknown", "Reshape Neg",
     [](ModelBuilder& m) {
       m.Ints("s", {0, 2, 2}).Ints("t", {-1, 1});
       m.Node("Reshape", {"x", "s"}, {"a"});
       m.Node("Reshape", {"a", "t"}, {"b"});
     },
     {-1, 4}},
    {"UnsqueezeAndSqueeze", "Neg",
     [](ModelBuilder& m) {
       m.Ints("axes", {1});
       m.Node("Unsqueeze", {"x", "axes"}, {"a"});
       m.Node("Squeeze", {"a", "axes"}, {"b"});
     },
     {-1, 4}},
    {"SqueezeAndUnsqueeze", "Neg",
     [](ModelBuilder& m) {
       m.Ints("axes", {1});
       m.Node("Squeeze", {"x", "axes"}, {"a"});
       m.Node("Unsqueeze", {"a", "axes"}, {"b"});
     },
     {-1, 1, 4}},
    {"SqueezeThatMayFail", "Squeeze Unsqueeze Neg",
     [](ModelBuilder& m) {
       m.Ints("axes", {1});
       m.Node("Squeeze", {"x", "axes"}, {"a"});
       m.Node("Unsqueeze", {"a", "axes"}, {"b"});
     },
     {2, -1, 4}},
    {"UnsqueezeAndFlatten", "Reshape Neg",
     [](ModelBuilder& m) {
       m.Ints("axes", {3});
       m.Node("Unsqueeze", {"x", "axes"}, {"a"});
       m.Node("Flatten", {"a"}, {"b"});
     },
     {-1, 2, 4}},
};

class FuseReshapes : public ::testing::TestWithParam<ReshapeCase> {};

TEST_P(FuseReshapes, KeepsResults) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, GetParam().dims);
  auto* output = model.proto().mutable_graph()->add_output();
  output->set_name("y");
  output->mutable_type()->mutable_tensor_type()->set_elem_type(1);
  GetParam().add(model);
  model.Node("Neg", {"b"}, {"y"});
  const Rewriting rewriting(model, {"fuse_reshapes", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), GetParam().after);
  EXPECT_EQ(rewriting.Difference(1, GetParam().name == "SqueezeThatMayFail" ? 1 : 3), "");
}

INSTANTIATE_TEST_SUITE_P(Chains, FuseReshapes, ::testing::ValuesIn(kReshapes), [](const auto& info) { return info.param.name; });

TEST(MergeActivations, OneDoesItAll) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {64}).Output("y", ElementType::kFloat, {64}).Output("z", ElementType::kFloat, {64});
  model.Output("w", ElementType::kFloat, {64}).Output("v", ElementType::kFloat, {64});
  model.Floats("one", {}, {1}).Floats("minus", {}, {-1});
  model.Node("Clip", {"x", "minus", "one"}, {"a"});  // both become one Clip
  model.Node("Relu", {"a"}, {"y"});
  model.Node("Relu", {"x"}, {"b"});
  model.Node("Clip", {"b", "", "one"}, {"z"});
  model.Node("Sigmoid", {"x"}, {"c"});
  model.Node("Relu", {"c"}, {"d"});
  model.Node("Abs", {"d"}, {"w"});
  model.Node("Neg", {"x"}, {"e"});
  model.Node("Neg", {"e"}, {"f"});
  model.Node("Floor", {"f"}, {"g"});
  model.Node("Ceil", {"g"}, {"v"});
  const Rewriting rewriting(model, {"merge_activations", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Clip Clip Sigmoid Abs Floor");
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(MergeActivations, KeepsNaNAndInfinity) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {4}).Output("y", ElementType::kFloat, {4});
  model.Floats("low", {}, {-1});
  model.Node("Clip", {"x", "low"}, {"a"});
  model.Node("Relu", {"a"}, {"y"});
  const Rewriting rewriting(model, {"merge_activations"});
  EXPECT_EQ(rewriting.after(), "Clip");
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rewriting.Difference({Floats({4}, {inf, -inf, std::nanf(""), -0.5f})}), "");
}

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

TEST(RecognizeGelu, InAnyOrder) {
  for (const int order : {0, 1, 2}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {3, 5}).Output("y", ElementType::kFloat, {3, 5});
    model.Floats("root", {}, {1.41421356f}).Floats("one", {1}, {1}).Floats("half", {}, {0.5f});
    model.Node("Div", {"x", "root"}, {"d"});
    model.Node("Erf", {"d"}, {"e"});
    model.Node("Add", {"one", "e"}, {"a"});
    if (order == 0) {
      model.Node("Mul", {"x", "a"}, {"m"});
      model.Node("Mul", {"m", "half"}, {"y"});
    } else if (order == 1) {
      model.Node("Mul", {"half", "x"}, {"h"});
      model.Node("Mul", {"h", "a"}, {"y"});
    } else {
      model.Node("Mul", {"a", "half"}, {"h"});
      model.Node("Mul", {"h", "x"}, {"y"});
    }
    const Rewriting rewriting(model, {"recognize_gelu", "eliminate_dead_nodes"});
    EXPECT_EQ(rewriting.after(), "Gelu") << order;
    EXPECT_EQ(rewriting.Difference(1, 3, true), "") << order;
  }
}

TEST(RecognizeGelu, OtherConstantsStay) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {3, 5}).Output("y", ElementType::kFloat, {3, 5});
  model.Floats("root", {}, {1.5f}).Floats("one", {}, {1}).Floats("half", {}, {0.5f});
  model.Node("Div", {"x", "root"}, {"d"});
  model.Node("Erf", {"d"}, {"e"});
  model.Node("Add", {"one", "e"}, {"a"});
  model.Node("Mul", {"x", "a"}, {"m"});
  model.Node("Mul", {"m", "half"}, {"y"});
  EXPECT_EQ(Rewriting(model, {"recognize_gelu"}).after(), "Div Erf Add Mul Mul");
}

/// sqrt(2/pi) (x + 0.044715 x^3) as "u", spelled in one of the ways of exporters.
void AddTanhArgument(ModelBuilder& model, int form, float cube = 0.044715f) {
  model.Floats("c", {}, {0.7978845834732056f}).Floats("a", {1}, {cube}).Floats("three", {}, {3}).Floats("one", {}, {1});
  if (form == 0) {
    model.Node("Pow", {"x", "three"}, {"p"});
    model.Node("Mul", {"p", "a"}, {"q"});
    model.Node("Add", {"x", "q"}, {"r"});
    model.Node("Mul", {"r", "c"}, {"u"});
    return;
  }
  model.Node("Mul", {"x", "a"}, {"p"});
  model.Node("Mul", {"p", "x"}, {"q"});
  model.Node("Add", {"one", "q"}, {"r"});
  model.Node("Mul", {"x", "c"}, {"s"});
  model.Node("Mul", {"s", "r"}, {"u"});
}

TEST(RecognizeGelu, OfTanhInAnyOrder) {
  for (const int form : {0, 1}) {
    for (const int order : {0, 1, 2}) {
      ModelBuilder model;
      model.Input("x", ElementType::kFloat, {3, 5}).Output("y", ElementType::kFloat, {3, 5});
      AddTanhArgument(model, form);
      model.Floats("half", {}, {0.5f});
      model.Node("Tanh", {"u"}, {"t"});
      model.Node("Add", {"t", "one"}, {"b"});
      if (order == 0) {
        model.Node("Mul", {"x", "b"}, {"m"});
        model.Node("Mul", {"m", "half"}, {"y"});
      } else if (order == 1) {
        model.Node("Mul", {"half", "x"}, {"h"});
        model.Node("Mul", {"h", "b"}, {"y"});
      } else {
        model.Node("Mul", {"b", "half"}, {"h"});
        model.Node("Mul", {"h", "x"}, {"y"});
      }
      const Rewriting rewriting(model, {"recognize_gelu", "eliminate_dead_nodes"});
      EXPECT_EQ(rewriting.after(), "Gelu") << form << order;
      EXPECT_EQ(rewriting.Difference(1, 3, true), "") << form << order;
    }
  }
}

TEST(RecognizeGelu, OtherFunctionsOfTanhStay) {
  for (const std::string reason : {"cube", "halved", "read twice", "output", "other factor"}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {3, 5}).Input("z", ElementType::kFloat, {3, 5}).Output("y", ElementType::kFloat, {3, 5});
    AddTanhArgument(model, 0, reason == "cube" ? 0.0447f : 0.044715f);
    model.Floats("half", {}, {reason == "halved" ? 0.25f : 0.5f});
    model.Node("Tanh", {"u"}, {"t"});
    model.Node("Add", {"t", "one"}, {"b"});
    model.Node("Mul", {reason == "other factor" ? "z" : "x", "b"}, {"m"});
    model.Node("Mul", {"m", "half"}, {"y"});
    if (reason == "read twice") {
      model.Node("Neg", {"t"}, {"n"});
      model.Output("n", ElementType::kFloat, {3, 5});
    }
    if (reason == "output") model.Output("b", ElementType::kFloat, {3, 5});
    const Rewriting rewriting(model, {"recognize_gelu", "eliminate_dead_nodes"});
    EXPECT_THAT(rewriting.after(), ::testing::HasSubstr("Tanh")) << reason;
    EXPECT_EQ(rewriting.Difference(), "") << reason;
  }
}

TEST(RecognizeSwish, WithAndWithoutFactor) {
  for (const bool scaled : {false, true}) {
    for (const std::string reason : {"", "read twice", "output", "other factor"}) {
      ModelBuilder model(17);
      model.Input("x", ElementType::kFloat, {3, 5}).Input("z", ElementType::kFloat, {3, 5}).Floats("c", {1}, {1.702f});
      if (scaled) model.Node("Mul", {"c", "x"}, {"u"});
      model.Node("Sigmoid", {scaled ? "u" : "x"}, {"s"});
      model.Node("Mul", {"s", reason == "other factor" ? "z" : "x"}, {"p"});
      model.Node("Add", {"p", "z"}, {"y"});
      model.Output("y", ElementType::kFloat, {3, 5});
      if (reason == "read twice") {
        model.Node("Neg", {"s"}, {"n"});
        model.Output("n", ElementType::kFloat, {3, 5});
      }
      if (reason == "output") model.Output("s", ElementType::kFloat, {3, 5});
      const Rewriting rewriting(model, {"recognize_swish"});
      EXPECT_EQ(rewriting.after(), reason.empty() ? "Swish Add" : rewriting.before()) << reason;
      EXPECT_EQ(rewriting.Difference(1, 3, true), "") << reason;
    }
  }
}

TEST(RecognizeNormalization, LayerAndRms) {
  for (const bool centers : {true, false}) {
    for (const bool reciprocal : {true, false}) {
      ModelBuilder model(23);
      model.Input("x", ElementType::kFloat, {-1, 3, 8}).Output("y", ElementType::kFloat, {-1, 3, 8});
      model.Ints("axes", {-1}).Floats("two", {}, {2}).Floats("eps", {}, {1e-5f});
      model.Floats("g", {8}, Numbers(8)).Floats("b", {8}, Numbers(8, 0.1f));
      std::string d = "x";
      if (centers) {
        model.Node("ReduceMean", {"x", "axes"}, {"mean"});
        model.Node("Sub", {"x", "mean"}, {"d"});
        d = "d";
      }
      model.Node("Pow", {d, "two"}, {"p"});
      model.Node("ReduceMean", {"p", "axes"}, {"v"});
      model.Node("Add", {"v", "eps"}, {"ve"});
      model.Node("Sqrt", {"ve"}, {"s"});
      if (reciprocal) {
        model.Node("Reciprocal", {"s"}, {"r"});
        model.Node("Mul", {d, "r"}, {"n"});
      } else {
        model.Node("Div", {d, "s"}, {"n"});
      }
      model.Node("Mul", {"g", "n"}, {centers ? "m" : "y"});
      if (centers) model.Node("Add", {"m", "b"}, {"y"});
      const Rewriting rewriting(model, {"recognize_normalization"});
      EXPECT_EQ(rewriting.after(), centers ? "LayerNormalization" : "RMSNormalization");
      EXPECT_EQ(rewriting.Difference(1, 4, true), "");
    }
  }
}

TEST(RecognizeNormalization, WithoutAScaleOrABias) {
  for (const bool bias : {true, false}) {
    for (const ElementType type : {ElementType::kFloat, ElementType::kFloat16}) {
      ModelBuilder model;
      model.Input("x", type, {4, 3, 8}).Output("y", type, {4, 3, 8});
      model.Ints("axes", {-1}).Floats("twos", {}, {2}).Floats("epsilon", {}, {1e-3f}).Floats("offset", {8}, Numbers(8, 0.1f));
      for (const auto& [from, to] : {std::pair("twos", "two"), std::pair("epsilon", "eps"), std::pair("offset", "b")}) {
        Int(model.Node("Cast", {from}, {to}), "to", static_cast<int64_t>(type));
      }
      model.Node("ReduceMean", {"x", "axes"}, {"mean"});
      model.Node("Sub", {"x", "mean"}, {"d"});
      model.Node("Pow", {"d", "two"}, {"p"});
      model.Node("ReduceMean", {"p", "axes"}, {"v"});
      model.Node("Add", {"v", "eps"}, {"ve"});
      model.Node("Sqrt", {"ve"}, {"s"});
      model.Node("Div", {"d", "s"}, {bias ? "n" : "y"});
      if (bias) model.Node("Add", {"n", "b"}, {"y"});
      const Rewriting rewriting(model, {"fold_constants", "recognize_normalization"});
      EXPECT_EQ(rewriting.after(), "LayerNormalization");
      if (type != ElementType::kFloat) continue;  // a half's steps round, the fused operator does not
      EXPECT_EQ(rewriting.Difference(1, 4, true), "");
    }
  }
}

TEST(RecognizeNormalization, OtherAxesStay) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 8, 8}).Output("y", ElementType::kFloat, {2, 8, 8});
  model.Ints("axes", {1}).Floats("two", {}, {2}).Floats("eps", {}, {1e-5f}).Floats("g", {8}, Numbers(8));
  model.Node("ReduceMean", {"x", "axes"}, {"mean"});
  model.Node("Sub", {"x", "mean"}, {"d"});
  model.Node("Pow", {"d", "two"}, {"p"});
  model.Node("ReduceMean", {"p", "axes"}, {"v"});
  model.Node("Add", {"v", "eps"}, {"ve"});
  model.Node("Sqrt", {"ve"}, {"s"});
  model.Node("Div", {"d", "s"}, {"n"});
  model.Node("Mul", {"n", "g"}, {"y"});
  EXPECT_EQ(Rewriting(model, {"recognize_normalization"}).after(), "ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul");
}

onnx::GraphProto Branch(const std::string& op, const std::string& from) {
  onnx::GraphProto graph;
  ModelBuilder::AddNode(graph, op, {from}, {"a"});
  ModelBuilder::AddNode(graph, "Add", {"a", "k"}, {"r"});
  auto* constant = graph.add_initializer();
  constant->set_name("k");
  constant->set_data_type(onnx::TensorProto::FLOAT);
  constant->add_float_data(3);
  ModelBuilder::Declare(graph.add_output(), "r", ElementType::kFloat, {2});
  return graph;
}

void SetBranches(onnx::NodeProto& node, const onnx::GraphProto& yes, const onnx::GraphProto& no) {
  for (auto [name, graph] : {std::pair("then_branch", &yes), {"else_branch", &no}}) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    *attribute->mutable_g() = *graph;
  }
}

TEST(InlineBranches, TheOneThatIsTaken) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2}).Input("c", ElementType::kBool, {});
  auto* condition = model.proto().mutable_graph()->add_initializer();
  condition->set_name("yes");
  condition->set_data_type(onnx::TensorProto::BOOL);
  condition->add_int32_data(1);
  model.Node("Relu", {"x"}, {"a"});  // the same name as in the branch
  onnx::GraphProto outer = Branch("Neg", "a");
  outer.mutable_node(0)->set_input(0, "x");
  outer.mutable_node(0)->set_output(0, "inside");
  outer.mutable_node(1)->set_input(0, "inside");
  outer.mutable_node(1)->set_output(0, "sum");
  // A branch in the branch reads what both of them and the model compute.
  onnx::GraphProto deepest, other;
  ModelBuilder::AddNode(deepest, "Add", {"sum", "a"}, {"q"});
  ModelBuilder::Declare(deepest.add_output(), "q", ElementType::kFloat, {2});
  ModelBuilder::AddNode(other, "Mul", {"inside", "a"}, {"q"});
  ModelBuilder::Declare(other.add_output(), "q", ElementType::kFloat, {2});
  SetBranches(ModelBuilder::AddNode(outer, "If", {"c"}, {"r"}), deepest, other);
  SetBranches(model.Node("If", {"yes"}, {"y"}), outer, Branch("Exp", "x"));
  const Rewriting rewriting(model, {"inline_branches"});
  EXPECT_EQ(rewriting.before(), "Relu If(Neg Add If(Add)(Mul))(Exp Add)");
  EXPECT_EQ(rewriting.after(), "Relu Neg Add If(Add)(Mul)");
  for (int seed = 0; seed < 4; ++seed) EXPECT_EQ(rewriting.Difference(seed), "");
}

TEST(InlineBranches, ResultsThatAreOnlyPassedOn) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  auto* condition = model.proto().mutable_graph()->add_initializer();
  condition->set_name("no");
  condition->set_data_type(onnx::TensorProto::BOOL);
  condition->add_int32_data(0);
  model.Node("Neg", {"x"}, {"n"});
  onnx::GraphProto pass;
  ModelBuilder::AddNode(pass, "Identity", {"n"}, {"i"});
  ModelBuilder::Declare(pass.add_output(), "i", ElementType::kFloat, {2});
  SetBranches(model.Node("If", {"no"}, {"y"}), Branch("Exp", "x"), pass);
  const Rewriting rewriting(model, {});
  EXPECT_EQ(rewriting.after(), "Neg");
  EXPECT_EQ(rewriting.Difference(), "");
}

}  // namespace
}  // namespace tessera::testing
