#include <cmath>
#include <numeric>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

using Dims = std::vector<int64_t>;

int64_t CountOf(const Dims& dims) { return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()); }

/// A model of quantized values: float input "x" is quantized to a scale of 0.02 around 125 (or -3), then "xd" again.
class QuantizedModel {
 public:
  QuantizedModel(const Dims& x, size_t rank_of_y, ElementType type) : type_(type), model_(17) {
    model_.Input("x", ElementType::kFloat, x).Output("y", ElementType::kFloat, Dims(rank_of_y, -1));
    Quantize("x", "xd", 0.02f, Zero());
  }

  ModelBuilder& model() { return model_; }
  int Zero() const { return type_ == ElementType::kInt8 ? -3 : 125; }
  int Lowest() const { return type_ == ElementType::kInt8 ? -128 : 0; }

  /// QuantizeLinear and DequantizeLinear.
  void Quantize(const std::string& from, const std::string& to, float scale, int zero) {
    model_.Floats(to + "_scale", {}, {scale});
    model_.Quantized(to + "_zero", type_, {}, {zero});
    model_.Node("QuantizeLinear", {from, to + "_scale", to + "_zero"}, {to + "_quantized"});
    model_.Node("DequantizeLinear", {to + "_quantized", to + "_scale", to + "_zero"}, {to});
  }

  /// Constant int8 quantized values up to `most` with a scale for each index of `axis`, dequantized.
  void Weights(const std::string& name, const Dims& dims, int64_t axis, int most) {
    std::vector<int> values;
    for (int64_t i = 0; i < CountOf(dims); ++i)
      values.push_back(static_cast<int>((i * i * 31 + 17 * i + i / 7) % (2 * most + 1)) - most);
    model_.Quantized(name + "_quantized", ElementType::kInt8, dims, values);
    std::vector<float> scales;
    for (int64_t i = 0; i < dims[static_cast<size_t>(axis)]; ++i)
      scales.push_back(0.004f + 0.0001f * static_cast<float>(i % 13));
    const auto count = static_cast<int64_t>(scales.size());
    model_.Floats(name + "_scale", {count}, scales);
    model_.Quantized(name + "_zero", ElementType::kInt8, {count}, std::vector<int>(scales.size(), 0));
    Int(model_.Node("DequantizeLinear", {name + "_quantized", name + "_scale", name + "_zero"}, {name}), "axis", axis);
  }

  void Bias(const std::string& name, int64_t count) {
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(0.3f * std::sin(static_cast<float>(i)));
    model_.Floats(name, {count}, values);
  }

 private:
  ElementType type_;
  ModelBuilder model_;
};

struct QuantizedOutcome {
  std::string operators;
  Tensor y;
};

QuantizedOutcome RunAt(const ModelBuilder& model, OptimizationLevel level, const Value& x) {
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.optimization_level = level;
  options.intra_op_threads = 2;
  const Session session = model.Session(options);
  QuantizedOutcome outcome;
  for (const auto& node : session.placement().nodes) {
    if (node.inserted) continue;  // between layouts, which follow the machine
    const std::string_view type(node.op_type);
    outcome.operators += outcome.operators.empty() ? "" : " ";
    outcome.operators += type == "QLinearConvNhwc" ? "QLinearConv" : type;
  }
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{x}, results);
  outcome.y = results[0].tensor();
  return outcome;
}

/// The optimized model has these operators, and results that are at most `step` from the literal ones.
void ExpectSame(const ModelBuilder& model, const Dims& dims, const std::string& operators, float step) {
  Tensor x(ElementType::kFloat, Shape(dims));
  for (int64_t i = 0; i < x.num_elements(); ++i)
    x.mutable_data<float>()[i] = 2.6f * std::sin(static_cast<float>(i) * 0.71f);
  const Value input(x);
  const QuantizedOutcome expected = RunAt(model, OptimizationLevel::kNone, input),
                         given = RunAt(model, OptimizationLevel::kAll, input);
  EXPECT_EQ(given.operators, operators);
  ASSERT_EQ(given.y.shape(), expected.y.shape());
  int64_t apart = 0;
  for (int64_t i = 0; i < expected.y.num_elements(); ++i) {
    const float difference = std::abs(expected.y.data<float>()[i] - given.y.data<float>()[i]);
    ASSERT_LE(difference, 1.001f * step) << "element " << i << " is " << given.y.data<float>()[i] << " instead of "
                                         << expected.y.data<float>()[i];
    if (difference > 0.01f * step) ++apart;
  }
  EXPECT_LE(apart, 1 + expected.y.num_elements() / 50) << "of " << expected.y.num_elements();
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

TEST(QuantizedMatMuls, WithFloatResultsTakeTheirBias) {
  QuantizedModel q({5, 48}, 2, ElementType::kUInt8);
  q.Weights("w", {48, 21}, 1, 60);
  q.Bias("b", 21);
  q.model().Node("MatMul", {"xd", "w"}, {"p"});
  q.model().Node("Add", {"b", "p"}, {"y"});
  ExpectSame(q.model(), {5, 48}, "QuantizeLinear MatMulIntegerToFloat", 1e-4f);
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

TEST(QuantizedMatMuls, OfDynamicQuantizationKeepTheScales) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {6, 32}).Output("y", ElementType::kFloat, {6, 10});
  std::vector<int> quantized;
  for (int i = 0; i < 320; ++i) quantized.push_back(i * 37 % 255 - 127);
  model.Quantized("w", ElementType::kInt8, {32, 10}, quantized);
  model.Quantized("w_zero", ElementType::kInt8, {}, {4});
  model.Floats("w_scale", {}, {0.01f}).Floats("b", {10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  model.Node("DynamicQuantizeLinear", {"x"}, {"q", "q_scale", "q_zero"});
  model.Node("MatMulInteger", {"q", "w", "q_zero", "w_zero"}, {"p"});
  Int(model.Node("Cast", {"p"}, {"f"}), "to", 1);
  model.Node("Mul", {"q_scale", "w_scale"}, {"scale"});
  model.Node("Mul", {"f", "scale"}, {"s"});
  model.Node("Add", {"s", "b"}, {"y"});
  ExpectSame(model, {6, 32}, "DynamicQuantizeLinear MatMulIntegerToFloat", 1e-4f);
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

TEST(QuantizedFunctions, OfOneValueBecomeATable) {
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt8}) {
    QuantizedModel q({4, 100}, 2, type);
    q.model().Floats("root", {}, {1.41421356f}).Floats("one", {1}, {1});
    q.model().Node("Div", {"xd", "root"}, {"d"});
    q.model().Node("Erf", {"d"}, {"e"});
    q.Quantize("e", "ed", 0.01f, q.Zero());
    q.model().Node("Add", {"ed", "one"}, {"a"});
    q.Quantize("a", "ad", 0.01f, q.Lowest());
    q.model().Node("Mul", {"xd", "ad"}, {"m"});
    q.Quantize("m", "y", 0.02f, q.Zero());
    ExpectSame(q.model(), {4, 100}, "QuantizeLinear QuantizedLookup DequantizeLinear", 1e-6f);
  }
}

TEST(QuantizedFunctions, WhoseConstantAddsADimensionStay) {
  QuantizedModel q({4, 10}, 3, ElementType::kUInt8);
  q.model().Floats("two", {1, 1, 1}, {2});
  q.model().Node("Mul", {"xd", "two"}, {"m"});
  q.Quantize("m", "y", 0.04f, 100);
  ExpectSame(q.model(), {4, 10}, "QuantizeLinear DequantizeLinear Mul QuantizeLinear DequantizeLinear", 1e-6f);
}

/// Adds one of com.microsoft's operators on quantized values `from`; scales and zero points go by their names.
void QuantizedNode(ModelBuilder& model, const std::string& op, const std::vector<std::string>& from,
                   const std::string& to) {
  std::vector<std::string> inputs;
  for (const std::string& name : from) inputs.insert(inputs.end(), {name, name + "_scale", name + "_zero"});
  inputs.insert(inputs.end(), {to + "_scale", to + "_zero"});
  ModelBuilder::AddNode(*model.proto().mutable_graph(), op, inputs, {to}).set_domain("com.microsoft");
}

/// A model of quantized values "x" whose operators of com.microsoft are to become tables: the same bytes, for each of the
/// 256 values.
class QuantizedOperators : public ::testing::TestWithParam<ElementType> {
 protected:
  QuantizedOperators() : model_(17) {
    auto* import = model_.proto().add_opset_import();
    import->set_domain("com.microsoft");
    import->set_version(1);
    model_.Input("x", GetParam(), {2, 128});
    Scale("x", 0.05f, 120);
  }

  /// Declares scale and zero point of a value; `zero` is of unsigned ones.
  void Scale(const std::string& name, float scale, int zero) {
    model_.Floats(name + "_scale", {}, {scale});
    model_.Quantized(name + "_zero", GetParam(), {}, {zero - (GetParam() == ElementType::kInt8 ? 128 : 0)});
  }
  void Function(const std::string& op, const std::vector<std::string>& from, const std::string& to, float scale, int zero) {
    Scale(to, scale, zero);
    QuantizedNode(model_, op, from, to);
  }
  void Output(const std::string& name) { model_.Output(name, GetParam(), {-1, -1}); }

  void ExpectOperators(const std::string& operators) {
    Tensor x(GetParam(), Shape{2, 128});
    for (int i = 0; i < 256; ++i) static_cast<uint8_t*>(x.mutable_raw())[i] = static_cast<uint8_t>(i);
    const Rewriting rewriting(model_, {"fuse_quantized_lookup", "eliminate_dead_nodes"});
    EXPECT_EQ(rewriting.after(), operators);
    EXPECT_EQ(rewriting.Difference({Value(x)}), "");
  }

  ModelBuilder model_;
};

TEST_P(QuantizedOperators, OfOneTensorBecomeATable) {
  Function("QLinearSigmoid", {"x"}, "s", 1.0f / 256, 0);
  Function("QLinearMul", {"x", "s"}, "y", 0.03f, 20);
  Output("y");
  ExpectOperators("QuantizedLookup");
}

TEST_P(QuantizedOperators, OfFunctionsBecomeATable) {
  Function("QLinearLeakyRelu", {"x"}, "l", 0.04f, 3);
  Function("QLinearAdd", {"l", "x"}, "a", 0.1f, 130);
  Function("QLinearMul", {"a", "a"}, "m", 0.2f, 0);
  Function("QLinearAdd", {"x", "m"}, "y", 0.3f, 100);
  Output("y");
  ExpectOperators("QuantizedLookup");
}

TEST_P(QuantizedOperators, MeetConstantsOfOneElement) {
  Scale("c", 0.02f, 100);
  model_.Quantized("c", GetParam(), {1, 1}, {77});
  Function("QLinearMul", {"c", "x"}, "m", 0.01f, 90);
  Function("QLinearAdd", {"m", "c"}, "y", 0.02f, 128);
  Output("y");
  ExpectOperators("QuantizedLookup");
}

TEST_P(QuantizedOperators, WithoutZeroPointsBecomeATable) {
  model_.Floats("y_scale", {1}, {0.02f});
  ModelBuilder::AddNode(*model_.proto().mutable_graph(), "QLinearSigmoid", {"x", "x_scale", "", "y_scale"}, {"y"})
      .set_domain("com.microsoft");
  Output("y");
  ExpectOperators("QuantizedLookup");
}

/// Others read what is on the way, and outputs of the graph stay.
TEST_P(QuantizedOperators, KeepWhatOthersSee) {
  Function("QLinearSigmoid", {"x"}, "s", 1.0f / 256, 0);
  Function("QLinearMul", {"x", "s"}, "m", 0.03f, 20);
  Function("QLinearAdd", {"m", "s"}, "a", 0.05f, 60);
  model_.Node("Transpose", {"m"}, {"y"});
  for (const char* name : {"s", "a", "y"}) Output(name);
  ExpectOperators("QuantizedLookup QuantizedLookup QuantizedLookup Transpose");
}

TEST_P(QuantizedOperators, JoinFloatsBetweenQuantizedValues) {
  Function("QLinearLeakyRelu", {"x"}, "l", 0.04f, 100);
  model_.Node("DequantizeLinear", {"l", "l_scale", "l_zero"}, {"ld"});
  model_.Node("Tanh", {"ld"}, {"t"});
  Scale("q", 0.01f, 128);
  model_.Node("QuantizeLinear", {"t", "q_scale", "q_zero"}, {"q"});
  Function("QLinearMul", {"q", "x"}, "y", 0.03f, 20);
  Output("y");
  ExpectOperators("QuantizedLookup");
}

/// Sums of two tensors; constants of more elements or more dimensions; scales that only the run knows.
TEST_P(QuantizedOperators, OfMoreThanOneTensorStay) {
  Function("QLinearSigmoid", {"x"}, "s", 1.0f / 256, 0);
  model_.Node("Transpose", {"x"}, {"r"});
  Scale("r", 0.05f, 120);
  model_.Ints("shape", {2, 128});
  model_.Node("Reshape", {"r", "shape"}, {"t"});
  Scale("t", 0.05f, 120);
  Function("QLinearAdd", {"t", "s"}, "y", 0.05f, 60);
  Output("y");
  ExpectOperators("QuantizedLookup Transpose Reshape QLinearAdd");
}

TEST_P(QuantizedOperators, OfConstantsThatBroadcastStay) {
  model_.Quantized("row", GetParam(), {128}, std::vector<int>(128, 5)).Quantized("cube", GetParam(), {1, 1, 1}, {5});
  Scale("row", 0.05f, 120);
  Scale("cube", 0.05f, 120);
  Function("QLinearAdd", {"x", "row"}, "a", 0.05f, 60);
  Function("QLinearMul", {"cube", "a"}, "y", 0.05f, 60);
  model_.Output("y", GetParam(), {-1, -1, -1});
  ExpectOperators("QLinearAdd QLinearMul");
}

TEST_P(QuantizedOperators, OfScalesThatAreComputedStay) {
  model_.Input("given", ElementType::kFloat, {});
  model_.Quantized("s_zero", GetParam(), {}, {1});
  model_.Node("Abs", {"given"}, {"s_scale"});
  QuantizedNode(model_, "QLinearSigmoid", {"x"}, "s");
  Output("s");
  EXPECT_EQ(Rewriting(model_, {"fuse_quantized_lookup"}).after(), "Abs QLinearSigmoid");
}

INSTANTIATE_TEST_SUITE_P(Signs, QuantizedOperators, ::testing::Values(ElementType::kUInt8, ElementType::kInt8),
                         [](const auto& signs) { return signs.param == ElementType::kInt8 ? "Int8" : "UInt8"; });

TEST(QuantizedMoves, AreOfTheQuantizedValues) {
  QuantizedModel q({2, 6, 8, 8}, 3, ElementType::kUInt8);
  auto& pool = q.model().Node("MaxPool", {"xd"}, {"p"});
  Ints(pool, "kernel_shape", {2, 2});
  Ints(pool, "strides", {2, 2});
  q.Quantize("p", "pd", 0.02f, q.Zero());
  Ints(q.model().Node("Transpose", {"pd"}, {"t"}), "perm", {0, 2, 3, 1});
  q.model().Ints("shape", {2, 16, 6});
  q.model().Node("Reshape", {"t", "shape"}, {"r"});
  q.Quantize("r", "y", 0.02f, q.Zero());
  ExpectSame(q.model(), {2, 6, 8, 8}, "QuantizeLinear MaxPool Transpose Reshape DequantizeLinear", 1e-6f);
}

TEST(QuantizedMoves, InPartsAreOfTheQuantizedValues) {
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt8}) {
    QuantizedModel q({2, 6, 8, 8}, 4, type);
    q.model().Ints("sizes", {2, 4});
    Int(q.model().Node("Split", {"xd", "sizes"}, {"a", "b"}), "axis", 1);
    q.Quantize("a", "ad", 0.02f, q.Zero());
    q.Quantize("b", "bd", 0.02f, q.Zero());
    q.model().Floats("scales", {4}, {1, 1, 2, 2});
    for (const char* part : {"a", "b"}) {
      auto& resize = q.model().Node("Resize", {std::string(part) + "d", "", "scales"}, {std::string(part) + "r"});
      Text(resize, "mode", "nearest");
      q.Quantize(std::string(part) + "r", std::string(part) + "s", 0.02f, q.Zero());
    }
    Int(q.model().Node("Concat", {"bs", "as"}, {"c"}), "axis", 1);
    q.Quantize("c", "y", 0.02f, q.Zero());
    ExpectSame(q.model(), {2, 6, 8, 8}, "QuantizeLinear Split Resize Resize Concat DequantizeLinear", 1e-6f);
  }
}

/// Parts of other scales and zero points become the whole's by tables; the one that has the whole's stays as it is.
TEST(QuantizedMoves, JoinPartsOfOtherScales) {
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt8}) {
    QuantizedModel q({2, 6, 8, 8}, 4, type);
    q.model().Node("Sigmoid", {"xd"}, {"a"});
    q.Quantize("a", "ad", 0.005f, q.Lowest());
    q.model().Node("Tanh", {"xd"}, {"b"});
    q.Quantize("b", "bd", 0.02f, q.Zero());
    Int(q.model().Node("Concat", {"ad", "bd", "xd"}, {"c"}), "axis", 1);
    q.Quantize("c", "y", 0.02f, q.Zero());
    ExpectSame(q.model(), {2, 6, 8, 8}, "QuantizeLinear QuantizedLookup QuantizedLookup Concat DequantizeLinear", 1e-6f);
  }
}

/// A part that is no quantized value, and a result that others read as floats.
TEST(QuantizedMoves, JoinFloatsWhereTheyMust) {
  for (const bool seen : {false, true}) {
    QuantizedModel q({2, 6, 8, 8}, 4, ElementType::kUInt8);
    q.model().Node("Sigmoid", {"x"}, {"a"});
    q.Quantize("a", "ad", 0.005f, 0);
    Int(q.model().Node("Concat", {seen ? "ad" : "x", "xd"}, {"c"}), "axis", 1);
    q.Quantize("c", "d", 0.02f, q.Zero());
    q.model().Node("Add", {"d", seen ? "c" : "d"}, {"y"});
    const Rewriting rewriting(q.model(), {"hoist_quantize_over_concat"});
    EXPECT_EQ(rewriting.report().passes[0].changes, 0u);
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
