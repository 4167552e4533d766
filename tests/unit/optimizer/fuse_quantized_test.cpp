#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "attributes.h"
#include "optimizer/quantized_model.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

/// y of `quantized values` after one operator of x and w, which both have been quantized; `change` may change what follows.
struct FusedCase {
  std::string name;
  std::function<void(QuantizedModel&)> add;  // from xd to y
  std::string after;                         // between QuantizeLinear and DequantizeLinear; "": all stays
  Dims x = {2, 4, 5, 5};
  size_t rank = 4;
};

/// A convolution of 4 channels to 6 as "c".
onnx::NodeProto& PlainConv(QuantizedModel& q, const std::string& bias = "") {
  q.Weights("w", {6, 4, 3, 3}, 0, 60);
  return bias.empty() ? q.model().Node("Conv", {"xd", "w"}, {"c"}) : q.model().Node("Conv", {"xd", "w", bias}, {"c"});
}

void QuantizeResult(QuantizedModel& q, const std::string& from) { q.Quantize(from, "y", 0.05f, q.Zero()); }

/// Quantized values "b" of 32 bits in units of x's and w's scales, as quantizers write a bias.
void WideBias(QuantizedModel& q, const std::string& name, int64_t count, int zero = 0) {
  std::vector<int> quantized;
  for (int64_t i = 0; i < count; ++i) quantized.push_back(static_cast<int>(i * 1371 - 4000));
  q.model()
      .Quantized(name + "_quantized", ElementType::kInt32, {count}, quantized)
      .Floats(name + "_scale", {}, {0.02f * 0.004f});
  q.model().Quantized(name + "_zero", ElementType::kInt32, {}, {zero});
  q.model().Node("DequantizeLinear", {name + "_quantized", name + "_scale", name + "_zero"}, {name});
}

/// Gemm of [5, 30] with [30, 18].
onnx::NodeProto& PlainGemm(QuantizedModel& q, const Dims& bias = {}) {
  q.Weights("w", {30, 18}, 1, 100);
  if (!bias.empty()) q.model().Floats("b", bias, Numbers(static_cast<size_t>(CountOf(bias)), 0.1f));
  return bias.empty() ? q.model().Node("Gemm", {"xd", "w"}, {"c"}) : q.model().Node("Gemm", {"xd", "w", "b"}, {"c"});
}

/// Quantized values of x's type as "w", so many that nothing that reads them is a function of x alone.
void ConstantOperand(QuantizedModel& q) {
  const ElementType type = q.Lowest() == 0 ? ElementType::kUInt8 : ElementType::kInt8;
  q.model().Quantized("w_quantized", type, {5}, {1, 20, 3, 44, 5}).Floats("w_scale", {}, {0.02f});
  q.model().Quantized("w_zero", type, {}, {7});
  q.model().Node("DequantizeLinear", {"w_quantized", "w_scale", "w_zero"}, {"w"});
}

const FusedCase kFusedCases[] = {
    {"Conv", [](QuantizedModel& q) { PlainConv(q), QuantizeResult(q, "c"); }, "QLinearConv"},
    {"ConvWithWideBias", [](QuantizedModel& q) { WideBias(q, "b", 6), PlainConv(q, "b"), QuantizeResult(q, "c"); },
     "QLinearConv"},
    {"ConvWithOffsetBias", [](QuantizedModel& q) { WideBias(q, "b", 6, 7), PlainConv(q, "b"), QuantizeResult(q, "c"); },
     ""},
    {"ConvWithHugeBias",
     [](QuantizedModel& q) {
       q.model().Floats("b", {6}, {0, 1, 2, 3, 4, 1e6f});
       PlainConv(q, "b"), QuantizeResult(q, "c");
     },
     ""},
    {"ConvWithComputedBias",
     [](QuantizedModel& q) {
       q.model().Floats("a", {6}, {0, 1, 2, 3, 4, 5}).Node("Neg", {"a"}, {"b"});
       PlainConv(q, "b"), QuantizeResult(q, "c");
     },
     ""},
    {"ConvOfComputedWeights",
     [](QuantizedModel& q) {
       PlainConv(q);
       q.model().proto().mutable_graph()->mutable_node(2)->set_input(0, "turned");
       Transpose(q.model(), "w_quantized", "turned", {0, 1, 3, 2});
       QuantizeResult(q, "c");
     },
     ""},
    {"ConvOfScalesByInput",
     [](QuantizedModel& q) {
       q.Weights("w", {4, 4, 3, 3}, 1, 60);
       q.model().Node("Conv", {"xd", "w"}, {"c"});
       QuantizeResult(q, "c");
     },
     ""},
    {"ConvOfFloatWeights",
     [](QuantizedModel& q) {
       q.model().Floats("w", {6, 4, 3, 3}, Numbers(216)).Node("Conv", {"xd", "w"}, {"c"});
       QuantizeResult(q, "c");
     },
     ""},
    {"ReluThatTheRangeImplies",
     [](QuantizedModel& q) {
       PlainConv(q), q.model().Node("Relu", {"c"}, {"r"});
       q.Quantize("r", "y", 0.05f, q.Lowest());
     },
     "QLinearConv"},
    {"ReluThatTheyDoNot",
     [](QuantizedModel& q) { PlainConv(q), q.model().Node("Relu", {"c"}, {"r"}), QuantizeResult(q, "r"); }, ""},
    {"ClipThatTheRangeImplies",
     [](QuantizedModel& q) {
       PlainConv(q), q.model().Floats("low", {}, {-0.0f}).Floats("high", {}, {12.76f});  // 255 * 0.05 = 12.75
       q.model().Node("Clip", {"c", "low", "high"}, {"r"});
       q.Quantize("r", "y", 0.05f, q.Lowest());
     },
     "QLinearConv"},
    {"ClipBelowTheLargestCode",
     [](QuantizedModel& q) {
       PlainConv(q), q.model().Floats("low", {}, {0}).Floats("high", {}, {12.7f});
       q.model().Node("Clip", {"c", "low", "high"}, {"r"});
       q.Quantize("r", "y", 0.05f, q.Lowest());
     },
     ""},
    {"ConvThatIsReadBeforeRelu",
     [](QuantizedModel& q) {
       PlainConv(q), q.model().Node("Relu", {"c"}, {"r"});
       q.Quantize("r", "y", 0.05f, q.Lowest());
       q.model().AnyOutput("c", ElementType::kFloat);
     },
     ""},
    {"ConvThatIsAnOutput",
     [](QuantizedModel& q) {
       PlainConv(q), QuantizeResult(q, "c");
       q.model().AnyOutput("c", ElementType::kFloat);
     },
     ""},
    {"ConvThatIsReadTwice",
     [](QuantizedModel& q) {
       PlainConv(q), QuantizeResult(q, "c");
       q.model().Node("Neg", {"c"}, {"z"});
       q.model().AnyOutput("z", ElementType::kFloat);
     },
     ""},
    {"ConvToGivenScale",
     [](QuantizedModel& q) {
       PlainConv(q), q.model().Floats("half", {}, {-0.05f}).Quantized("zero", ElementType::kUInt8, {}, {9});
       q.model().Node("Abs", {"half"}, {"scale"});
       q.model().Node("QuantizeLinear", {"c", "scale", "zero"}, {"quantized"});
       q.model().Node("DequantizeLinear", {"quantized", "scale", "zero"}, {"y"});
     },
     ""},
    {"ConvToScalesByChannel",
     [](QuantizedModel& q) {
       PlainConv(q), q.model().Floats("s", {6}, std::vector<float>(6, 0.05f));
       q.model().Quantized("z", ElementType::kUInt8, {6}, {1, 2, 3, 4, 5, 6});
       Int(q.model().Node("QuantizeLinear", {"c", "s", "z"}, {"quantized"}), "axis", 1);
       Int(q.model().Node("DequantizeLinear", {"quantized", "s", "z"}, {"y"}), "axis", 1);
     },
     ""},
    {"MatMul",
     [](QuantizedModel& q) {
       q.Weights("w", {30, 18}, 1, 60), q.model().Node("MatMul", {"xd", "w"}, {"c"});
       QuantizeResult(q, "c");
     },
     "QLinearMatMul",
     {5, 30},
     2},
    {"MatMulOfScalesByRow",
     [](QuantizedModel& q) {
       q.Weights("w", {30, 18}, 0, 60), q.model().Node("MatMul", {"xd", "w"}, {"c"});
       QuantizeResult(q, "c");
     },
     "",
     {5, 30},
     2},
    {"MatMulOfManyMatrices",
     [](QuantizedModel& q) {
       q.Weights("w", {5, 5, 4}, 2, 60), q.model().Node("MatMul", {"xd", "w"}, {"c"});
       QuantizeResult(q, "c");
     },
     "",
     {5, 3, 5},
     3},
    {"Gemm", [](QuantizedModel& q) { PlainGemm(q), QuantizeResult(q, "c"); }, "QGemm", {5, 30}, 2},
    {"GemmOfBetaAlone",
     [](QuantizedModel& q) { Float(PlainGemm(q), "beta", 2), QuantizeResult(q, "c"); },
     "QGemm",
     {5, 30},
     2},
    {"GemmWithAlpha",
     [](QuantizedModel& q) { Float(PlainGemm(q), "alpha", 0.5f), QuantizeResult(q, "c"); },
     "",
     {5, 30},
     2},
    {"GemmWithBeta",
     [](QuantizedModel& q) { Float(PlainGemm(q, {18}), "beta", 0.5f), QuantizeResult(q, "c"); },
     "",
     {5, 30},
     2},
    {"GemmWithMatrixAsBias", [](QuantizedModel& q) { PlainGemm(q, {5, 18}), QuantizeResult(q, "c"); }, "", {5, 30}, 2},
    {"GemmWithRowAsBias", [](QuantizedModel& q) { PlainGemm(q, {1, 18}), QuantizeResult(q, "c"); }, "", {5, 30}, 2},
    {"GemmWithOneNumberAsBias", [](QuantizedModel& q) { PlainGemm(q, {1}), QuantizeResult(q, "c"); }, "", {5, 30}, 2},
    {"GemmOfTransposed", [](QuantizedModel& q) { Int(PlainGemm(q), "transA", 1), QuantizeResult(q, "c"); }, "", {30, 5}, 2},
    {"GemmOfScalesByRow",
     [](QuantizedModel& q) {
       q.Weights("w", {30, 18}, 0, 60), q.model().Node("Gemm", {"xd", "w"}, {"c"});
       QuantizeResult(q, "c");
     },
     "",
     {5, 30},
     2},
    {"Add",
     [](QuantizedModel& q) { ConstantOperand(q), q.model().Node("Add", {"xd", "w"}, {"c"}), QuantizeResult(q, "c"); },
     "QLinearAdd"},
    {"Mul",
     [](QuantizedModel& q) { ConstantOperand(q), q.model().Node("Mul", {"xd", "w"}, {"c"}), QuantizeResult(q, "c"); },
     "QLinearMul"},
    {"AddOfItself", [](QuantizedModel& q) { q.model().Node("Add", {"xd", "xd"}, {"c"}), QuantizeResult(q, "c"); }, ""},
    {"MulByItself", [](QuantizedModel& q) { q.model().Node("Mul", {"xd", "xd"}, {"c"}), QuantizeResult(q, "c"); }, ""},
    {"SubHasNoCounterpart", [](QuantizedModel& q) { q.model().Node("Sub", {"xd", "xd"}, {"c"}), QuantizeResult(q, "c"); },
     ""},
    {"AddOfFloats", [](QuantizedModel& q) { q.model().Node("Add", {"xd", "x"}, {"c"}), QuantizeResult(q, "c"); }, ""},
    {"Average",
     [](QuantizedModel& q) { q.model().Node("GlobalAveragePool", {"xd"}, {"c"}), q.Quantize("c", "y", 0.01f, q.Zero()); },
     "QLinearGlobalAveragePool"},
};

class FuseQuantized : public ::testing::TestWithParam<FusedCase> {};

TEST_P(FuseQuantized, WhereTheResultsAreTheSame) {
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt8}) {
    if (type == ElementType::kInt8 && GetParam().name.starts_with("ConvTo")) continue;  // writes unsigned values
    QuantizedModel q(GetParam().x, GetParam().rank, type);
    GetParam().add(q);
    const Rewriting rewriting(q.model(), {"fuse_quantized", "eliminate_dead_nodes"});
    if (GetParam().after.empty()) {
      EXPECT_EQ(rewriting.after(), rewriting.before());
    } else {
      EXPECT_EQ(rewriting.after(), "QuantizeLinear " + GetParam().after + " DequantizeLinear");
    }
    EXPECT_EQ(rewriting.Difference(1, 3, true), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, FuseQuantized, ::testing::ValuesIn(kFusedCases),
                         [](const auto& info) { return info.param.name; });

/// Quantized values of one sign and the other: com.microsoft's sums and averages have one type.
TEST(FuseQuantizedTypes, OfSumsAndAveragesAreOne) {
  for (const std::string other : {"", "operand", "result", "average"}) {
    QuantizedModel q({2, 4, 5, 5}, 4, ElementType::kUInt8);
    ModelBuilder& model = q.model();
    const auto quantize = [&](const std::string& from, const std::string& to, bool is_signed) {
      const ElementType type = is_signed ? ElementType::kInt8 : ElementType::kUInt8;
      model.Floats(to + "_scale", {}, {0.03f}).Quantized(to + "_zero", type, {}, {5});
      model.Node("QuantizeLinear", {from, to + "_scale", to + "_zero"}, {to + "_quantized"});
      model.Node("DequantizeLinear", {to + "_quantized", to + "_scale", to + "_zero"}, {to});
    };
    quantize("x", "a", other == "operand");
    if (other == "average") {
      model.Node("GlobalAveragePool", {"a"}, {"c"});
    } else {
      model.Node("Add", {"xd", "a"}, {"c"});
    }
    quantize("c", "y", other == "result" || other == "average");
    const Rewriting rewriting(model, {"fuse_quantized"});
    EXPECT_EQ(rewriting.report().passes[0].changes, other.empty() ? 1u : 0u) << other;
    EXPECT_EQ(rewriting.Difference(1, 3, true), "") << other;
  }
}

/// A QuantizeLinear that rounds in less than float.
TEST(FuseQuantizedTypes, OfRoundingIsFloat) {
  for (const bool halves : {false, true}) {
    ModelBuilder model(23);
    model.Input("x", ElementType::kUInt8, {4, 6}).Input("w", ElementType::kUInt8, {4, 6});
    model.AnyOutput("y", ElementType::kUInt8).Floats("s", {}, {0.05f}).Quantized("z", ElementType::kUInt8, {}, {128});
    model.Node("DequantizeLinear", {"x", "s", "z"}, {"d"});
    model.Node("DequantizeLinear", {"w", "s", "z"}, {"e"});
    model.Node("Add", {"d", "e"}, {"c"});
    auto& quantize = model.Node("QuantizeLinear", {"c", "s", "z"}, {"y"});
    if (halves) Int(quantize, "precision", static_cast<int64_t>(ElementType::kFloat16));
    EXPECT_EQ(Rewriting(model, {"fuse_quantized", "eliminate_dead_nodes"}).after(),
              halves ? "DequantizeLinear DequantizeLinear Add QuantizeLinear" : "QLinearAdd");
  }
}

/// Functions of one quantized tensor, also by way of others, are left to the lowerings' tables; not those that a constant
/// gives another shape, or whose way begins at a tensor of its own.
TEST(FuseQuantizedFunctions, OfOneTensorStay) {
  for (const std::string way : {"itself", "function", "scalar", "other", "row", "cube", "axis"}) {
    ModelBuilder model(17);
    model.Input("x", ElementType::kUInt8, {4, 6}).Input("w", ElementType::kUInt8, {4, 6});
    model.AnyOutput("y", ElementType::kUInt8).Floats("s", {}, {0.05f}).Quantized("z", ElementType::kUInt8, {}, {128});
    model.Quantized("scalar", ElementType::kUInt8, {1}, {9}).Quantized("cube", ElementType::kUInt8, {1, 1, 1}, {9});
    model.Quantized("row", ElementType::kUInt8, {6}, {1, 2, 3, 4, 5, 6});
    model.Node("DequantizeLinear", {"x", "s", "z"}, {"d"});
    model.Node("Tanh", {"d"}, {"t"});
    model.Node("QuantizeLinear", {way == "axis" ? "v" : "t", "s", "z"}, {"function"});
    Int(model.Node("Softmax", {"t"}, {"v"}), "axis", 1);
    const std::string of = way == "itself" ? "x" : way == "other" ? "w" : way == "axis" ? "function" : way;
    model.Node("DequantizeLinear", {of, "s", "z"}, {"e"});
    model.Node("Mul", {"d", "e"}, {"c"});
    model.Node("QuantizeLinear", {"c", "s", "z"}, {"y"});
    const bool stays = way == "itself" || way == "function" || way == "scalar";
    EXPECT_EQ(Rewriting(model, {"fuse_quantized"}).after().find("QLinearMul") == std::string::npos, stays) << way;
  }
}

struct QuantizedConvCase {
  std::string name;
  Dims x, w;
  int64_t group = 1, stride = 1, pad = 0;
};

class QuantizedConvolutions : public ::testing::TestWithParam<QuantizedConvCase> {};

TEST_P(QuantizedConvolutions, AreLikeFloats) {
  const QuantizedConvCase& c = GetParam();
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt8}) {
    for (const int most : {20, 63, 127}) {  // sums of four products, of fewer, of 16 bits
      QuantizedModel q(c.x, c.x.size(), type);
      q.Weights("w", c.w, 0, most);
      q.Bias("b", c.w[0]);
      auto& conv = q.model().Node("Conv", {"xd", "w", "b"}, {"c"});
      Int(conv, "group", c.group);
      Ints(conv, "strides", Dims(c.x.size() - 2, c.stride));
      Ints(conv, "pads", Dims(2 * (c.x.size() - 2), c.pad));
      q.model().Node("Relu", {"c"}, {"r"});
      q.Quantize("r", "y", 0.05f, q.Lowest());
      SCOPED_TRACE(fmt::format("weights to {}", most));
      ExpectSame(q.model(), c.x, "QuantizeLinear QLinearConv DequantizeLinear", 0.05f);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, QuantizedConvolutions,
                         ::testing::Values(QuantizedConvCase{"Pointwise", {2, 20, 20, 17}, {19, 20, 1, 1}},
                                           QuantizedConvCase{"PointwiseSmall", {1, 37, 7, 7}, {40, 37, 1, 1}},
                                           QuantizedConvCase{"PointwiseStrided", {1, 16, 15, 15}, {24, 16, 1, 1}, 1, 2},
                                           QuantizedConvCase{"Image", {1, 24, 19, 21}, {32, 24, 3, 3}, 1, 1, 1},
                                           QuantizedConvCase{"Deep", {1, 300, 5, 5}, {13, 300, 3, 3}, 1, 1, 1},
                                           QuantizedConvCase{"Strided", {1, 3, 37, 41}, {16, 3, 7, 7}, 1, 2, 3},
                                           QuantizedConvCase{"Grouped", {2, 8, 9, 9}, {12, 4, 3, 3}, 2, 1, 1},
                                           QuantizedConvCase{"Depthwise", {2, 20, 19, 23}, {20, 1, 3, 3}, 20, 1, 1},
                                           QuantizedConvCase{"DepthwiseStrided", {1, 9, 18, 35}, {9, 1, 5, 5}, 9, 2, 2},
                                           QuantizedConvCase{"DepthwiseTwice", {1, 6, 9, 9}, {12, 1, 4, 4}, 6, 1, 0},
                                           QuantizedConvCase{"DepthwiseLarge", {1, 2, 250, 240}, {2, 1, 3, 3}, 2, 2, 1},
                                           QuantizedConvCase{"OneDimension", {2, 5, 40}, {7, 5, 3}, 1, 1, 1},
                                           QuantizedConvCase{"Kn2RowConvolutions", {1, 12, 6, 6}, {2, 12, 3, 3}}),
                         [](const auto& info) { return info.param.name; });

TEST(QuantizedMatMuls, OfMatricesAreLikeFloats) {
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt8}) {
    for (const int64_t k : {1, 7, 64, 90, 1030}) {
      for (const int most : {20, 127}) {
        QuantizedModel q({3, 11, k}, 3, type);
        q.Weights("w", {k, 37}, 1, most);
        q.model().Node("MatMul", {"xd", "w"}, {"p"});
        q.Quantize("p", "y", 0.1f, q.Zero());
        SCOPED_TRACE(fmt::format("k {}, weights to {}", k, most));
        ExpectSame(q.model(), {3, 11, k}, "QuantizeLinear QLinearMatMul DequantizeLinear", 0.1f);
      }
    }
  }
}

TEST(QuantizedMatMuls, OfGemmAreLikeFloats) {
  for (const int64_t turned : {0, 1}) {
    QuantizedModel q({5, 30}, 2, ElementType::kInt8);
    q.Weights("w", turned != 0 ? Dims{18, 30} : Dims{30, 18}, 1 - turned, 100);
    q.Bias("b", 18);
    Int(q.model().Node("Gemm", {"xd", "w", "b"}, {"p"}), "transB", turned);
    q.Quantize("p", "y", 0.05f, q.Zero());
    ExpectSame(q.model(), {5, 30}, "QuantizeLinear QGemm DequantizeLinear", 0.05f);
  }
}

/// Zero points that are left out become constants, which move the others.
TEST(QuantizedMatMuls, OfGemmWithoutZeroPoints) {
  for (int others = 0; others < 16; ++others) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {5, 30}).Output("y", ElementType::kFloat, {5, 18});
    for (int i = 0; i < others; ++i) model.Floats("unread" + std::to_string(i), {}, {0});
    std::vector<int> quantized;
    for (int i = 0; i < 540; ++i) quantized.push_back(i * 37 % 255 - 127);
    model.Floats("scale", {}, {0.02f})
        .Floats("b", {18}, Numbers(18, 0.1f))
        .Quantized("w", ElementType::kInt8, {30, 18}, quantized);
    Int(model.Node("QuantizeLinear", {"x", "scale"}, {"xq"}), "output_dtype", static_cast<int64_t>(ElementType::kInt8));
    model.Node("DequantizeLinear", {"xq", "scale"}, {"xd"});
    model.Node("DequantizeLinear", {"w", "scale"}, {"wd"});
    model.Node("Gemm", {"xd", "wd", "b"}, {"p"});
    Int(model.Node("QuantizeLinear", {"p", "scale"}, {"pq"}), "output_dtype", static_cast<int64_t>(ElementType::kInt8));
    model.Node("DequantizeLinear", {"pq", "scale"}, {"y"});
    ExpectSame(model, {5, 30}, "QuantizeLinear QGemm DequantizeLinear", 0.02f);
  }
}

TEST(QuantizedSums, AndAveragesAreLikeFloats) {
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt8}) {
    for (const std::string op : {"Add", "Mul"}) {
      QuantizedModel q({2, 7, 5, 3}, 4, type);
      q.model().Node("GlobalAveragePool", {"xd"}, {"m"});
      q.Quantize("m", "md", 0.01f, q.Zero());
      q.model().Node(op, {"xd", "md"}, {"s"});
      q.Quantize("s", "y", 0.03f, q.Zero());
      ExpectSame(q.model(), {2, 7, 5, 3}, "QuantizeLinear QLinearGlobalAveragePool QLinear" + op + " DequantizeLinear",
                 0.03f);
    }
  }
}

/// A float result that others read too, and a Relu that the quantized values do not imply.
TEST(QuantizedConvolution, StaysWhereItsFloatsAreSeen) {
  for (const bool seen : {false, true}) {
    QuantizedModel q({1, 4, 6, 6}, 4, ElementType::kUInt8);
    q.Weights("w", {5, 4, 1, 1}, 0, 60);
    q.model().Node("Conv", {"xd", "w"}, {"c"});
    q.model().Node("Relu", {"c"}, {"r"});
    q.Quantize("r", seen ? "z" : "y", 0.05f, seen ? 0 : 30);
    if (seen) q.model().Node("Sub", {"z", "c"}, {"y"});
    Tensor x(ElementType::kFloat, Shape{1, 4, 6, 6});
    for (int64_t i = 0; i < x.num_elements(); ++i) x.mutable_data<float>()[i] = std::sin(static_cast<float>(i));
    const QuantizedOutcome expected = RunAt(q.model(), OptimizationLevel::kNone, Value(x)),
                           given = RunAt(q.model(), OptimizationLevel::kAll, Value(x));
    EXPECT_EQ(given.operators.find("QLinearConv"), std::string::npos);
    for (int64_t i = 0; i < expected.y.num_elements(); ++i)
      EXPECT_NEAR(given.y.data<float>()[i], expected.y.data<float>()[i], 0.051f);
  }
}

}  // namespace
}  // namespace tessera::testing
