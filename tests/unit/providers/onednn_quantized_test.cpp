#include <random>

#include "error_of.h"
#include "providers/onednn_models.h"

namespace tessera::testing {
namespace {

template <class T>
std::vector<T> RandomQuantized(int64_t count, unsigned seed, int low = std::numeric_limits<T>::min(),
                               int high = std::numeric_limits<T>::max()) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> pick(low, high);
  std::vector<T> quantized(static_cast<size_t>(count));
  for (T& q : quantized) q = static_cast<T>(pick(random));
  return quantized;
}

template <class T>
Tensor QuantizedTensor(const Shape& shape, unsigned seed, int low = std::numeric_limits<T>::min(),
                       int high = std::numeric_limits<T>::max()) {
  return Tensor::Of<T>(shape, RandomQuantized<T>(shape.num_elements(), seed, low, high));
}

template <class T>
void QuantizedConstant(ModelBuilder& model, const std::string& name, const std::vector<int64_t>& dims, unsigned seed,
                       int low = std::numeric_limits<T>::min(), int high = std::numeric_limits<T>::max()) {
  const auto quantized = RandomQuantized<T>(Shape(dims).num_elements(), seed, low, high);
  model.Quantized(name, ElementTypeOf<T>, dims, {quantized.begin(), quantized.end()});
}

template <class T>
void One(ModelBuilder& model, const std::string& name, T value) {
  if constexpr (std::is_same_v<T, float>) {
    model.Floats(name, {}, {value});
  } else {
    model.Quantized(name, ElementTypeOf<T>, {}, {value});
  }
}

void Scales(ModelBuilder& model, const std::string& name, int64_t count, float low, float high) {
  const auto values = Random(static_cast<size_t>(count), 17, low, high);
  model.Constant(name, std::vector<int64_t>{count}, std::span<const float>(values));
}

std::vector<double> Numbers(const Tensor& tensor) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    numbers.push_back(tensor.is(ElementType::kInt8)    ? tensor.data<int8_t>()[i]
                      : tensor.is(ElementType::kUInt8) ? tensor.data<uint8_t>()[i]
                      : tensor.is(ElementType::kInt32) ? tensor.data<int32_t>()[i]
                                                       : static_cast<double>(tensor.data<float>()[i]));
  }
  return numbers;
}

/// Results on both providers; `tolerance` is of each number, and few may differ at all.
void ExpectSameQuantized(const ModelBuilder& model, const std::vector<Value>& inputs, double tolerance, const char* op) {
  if (!onednn::HasQuantizedGemm()) GTEST_SKIP() << "no VNNI";
  SessionOptions plain = OnProvider("dnnl"), reference = OnProvider("cpu");
  reference.optimization_level = OptimizationLevel::kNone;
  const Session session = model.Session(plain);
  bool found = false;
  for (const auto& node : session.placement().nodes) {
    if (node.op_type != op) continue;
    found = true;
    EXPECT_EQ(node.provider, "DnnlExecutionProvider")
        << op << (node.refusals.empty() ? "" : ": " + node.refusals[0].second);
  }
  EXPECT_TRUE(found) << op;
  std::vector<Value> results(1), expected(1);
  model.Session(reference).Run(inputs, expected);
  for (int run = 0; run < 2; ++run) {
    session.Run(inputs, results);
    ASSERT_EQ(results[0].tensor().shape(), expected[0].tensor().shape());
    ASSERT_EQ(results[0].tensor().type(), expected[0].tensor().type());
    const auto actual = Numbers(results[0].tensor()), wanted = Numbers(expected[0].tensor());
    size_t different = 0;
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_NEAR(actual[i], wanted[i], tolerance) << "element " << i;
      different += actual[i] != wanted[i] ? 1 : 0;
    }
    if (tolerance != 1) continue;
    EXPECT_LE(different, actual.size() / 100 + 1);
  }
}

struct ConvCase {
  const char* name;
  std::vector<int64_t> x, w;
  int64_t group = 1;
  std::vector<int64_t> pads, strides, dilations;
};

const ConvCase kConvs[] = {{"plain", {2, 16, 9, 7}, {24, 16, 1, 1}, 1, {}, {}, {}},
                           {"padded", {1, 5, 9, 7}, {11, 5, 3, 3}, 1, {1, 0, 2, 1}, {2, 1}, {}},
                           {"dilated", {1, 32, 12, 12}, {16, 32, 3, 3}, 1, {2, 2, 2, 2}, {}, {2, 2}},
                           {"depthwise", {1, 32, 8, 8}, {32, 1, 3, 3}, 32, {1, 1, 1, 1}, {}, {}},
                           {"groups", {1, 12, 8, 8}, {18, 4, 3, 3}, 3, {1, 1, 1, 1}, {}, {}},
                           {"sequence", {2, 8, 20}, {16, 8, 5}, 1, {2, 2}, {3}, {}},
                           {"volume", {1, 4, 5, 6, 7}, {8, 4, 3, 3, 3}, 1, {1, 1, 1, 1, 1, 1}, {}, {}}};

void SetWindow(onnx::NodeProto& node, const ConvCase& c) {
  Int(node, "group", c.group);
  if (!c.pads.empty()) Ints(node, "pads", c.pads);
  if (!c.strides.empty()) Ints(node, "strides", c.strides);
  if (!c.dilations.empty()) Ints(node, "dilations", c.dilations);
}

template <class X, class W, class Y>
void TestQLinearConv(const ConvCase& c, int x_zero, int w_zero, int y_zero, bool per_channel, bool bias) {
  SCOPED_TRACE(::testing::Message() << c.name << ": zero points " << x_zero << " " << w_zero << " " << y_zero
                                    << ", per channel " << per_channel << ", bias " << bias);
  ModelBuilder model;
  model.Input("x", ElementTypeOf<X>, c.x).Output("y", ElementTypeOf<Y>, std::vector<int64_t>(c.x.size(), -1));
  const int reach = std::is_signed_v<W> ? 127 : 100;
  QuantizedConstant<W>(model, "w", c.w, 3, w_zero - reach, w_zero + reach);
  One<float>(model, "xs", 0.02f);
  One<X>(model, "xz", static_cast<X>(x_zero));
  Scales(model, "ws", per_channel ? c.w[0] : 1, 0.004f, 0.012f);
  One<W>(model, "wz", static_cast<W>(w_zero));
  One<float>(model, "ys", 0.003f * static_cast<float>(Shape(c.w).num_elements() / c.w[0]));
  One<Y>(model, "yz", static_cast<Y>(y_zero));
  std::vector<std::string> inputs = {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"};
  if (bias) {
    QuantizedConstant<int32_t>(model, "b", {c.w[0]}, 5, -20000, 20000);
    inputs.push_back("b");
  }
  SetWindow(ModelBuilder::AddNode(*model.proto().mutable_graph(), "QLinearConv", inputs, {"y"}), c);
  ExpectSameQuantized(model, {QuantizedTensor<X>(Shape(c.x), 4)}, 1, "QLinearConv");
}

TEST(OnednnQuantized, QuantizedConvolutions) {
  for (const ConvCase& c : kConvs) {
    TestQLinearConv<uint8_t, int8_t, uint8_t>(c, 0, 0, 0, false, false);
    TestQLinearConv<uint8_t, int8_t, uint8_t>(c, 131, 0, 90, true, true);
    TestQLinearConv<int8_t, int8_t, int8_t>(c, -7, 0, 5, true, true);
    TestQLinearConv<uint8_t, uint8_t, uint8_t>(c, 97, 121, 128, false, true);
    TestQLinearConv<int8_t, int8_t, int8_t>(c, 0, 0, 0, true, false);
  }
}

TEST(OnednnQuantized, IntegerConvolutionsAreExact) {
  for (const ConvCase& c : kConvs) {
    for (const bool runtime_zero : {false, true}) {
      SCOPED_TRACE(::testing::Message() << c.name << ", zero point at run time " << runtime_zero);
      ModelBuilder model;
      model.Input("x", ElementType::kUInt8, c.x).Output("y", ElementType::kInt32, std::vector<int64_t>(c.x.size(), -1));
      QuantizedConstant<int8_t>(model, "w", c.w, 3, -127, 127);
      std::vector<Value> inputs = {QuantizedTensor<uint8_t>(Shape(c.x), 4)};
      if (runtime_zero) {
        model.Input("z", ElementType::kUInt8, {});
        inputs.push_back(Tensor::Of<uint8_t>(Shape{}, std::vector<uint8_t>{211}));
      } else {
        One<uint8_t>(model, "z", 211);
      }
      SetWindow(model.Node("ConvInteger", {"x", "w", "z"}, {"y"}), c);
      ExpectSameQuantized(model, inputs, 0, "ConvInteger");
    }
  }
}

TEST(OnednnQuantized, SumsThatConvolutionsWouldRoundAreLeft) {
  ModelBuilder model;
  model.Input("x", ElementType::kUInt8, {1, 600, 2, 2}).Output("y", ElementType::kInt32, {1, 1, 2, 2});
  QuantizedConstant<int8_t>(model, "w", {1, 600, 1, 1}, 3, 120, 127);
  model.Node("ConvInteger", {"x", "w"}, {"y"});
  const Session session = model.Session(OnProvider("dnnl"));
  EXPECT_EQ(session.placement().nodes[0].provider, "CPUExecutionProvider");
}

enum class B { kConstant, kInput };

template <class A, class W>
void TestMatMulInteger(const std::vector<int64_t>& a, const std::vector<int64_t>& b, B kind, bool runtime_zero,
                       int64_t b_zeros) {
  SCOPED_TRACE(::testing::Message() << a.size() << " by " << b.size() << " dimensions, B constant "
                                    << (kind == B::kConstant) << ", zero point at run time " << runtime_zero
                                    << ", zero points of B " << b_zeros);
  ModelBuilder model;
  std::vector<int64_t> out = a;
  out.back() = b.back();
  model.Input("a", ElementTypeOf<A>, a).Output("y", ElementType::kInt32, out);
  std::vector<Value> values = {QuantizedTensor<A>(Shape(a), 4)};
  if (kind == B::kConstant) {
    QuantizedConstant<W>(model, "b", b, 5);
  } else {
    model.Input("b", ElementTypeOf<W>, b);
    values.push_back(QuantizedTensor<W>(Shape(b), 5));
  }
  if (runtime_zero) {
    model.Input("az", ElementTypeOf<A>, {1});
    values.push_back(Tensor::Of<A>(Shape{1}, std::vector<A>{77}));
  } else {
    One<A>(model, "az", 101);
  }
  std::vector<std::string> inputs = {"a", "b", "az"};
  if (b_zeros > 0) {
    QuantizedConstant<W>(model, "bz", {b_zeros}, 6);
    inputs.push_back("bz");
  }
  ModelBuilder::AddNode(*model.proto().mutable_graph(), "MatMulInteger", inputs, {"y"});
  ExpectSameQuantized(model, values, 0, "MatMulInteger");
}

TEST(OnednnQuantized, IntegerMatMulsAreExact) {
  for (const B kind : {B::kConstant, B::kInput}) {
    for (const bool runtime_zero : {false, true}) {
      for (const int64_t b_zeros : {0, 1, 13}) {
        TestMatMulInteger<uint8_t, int8_t>({7, 29}, {29, 13}, kind, runtime_zero, b_zeros);
        TestMatMulInteger<int8_t, int8_t>({2, 3, 29}, {29, 13}, kind, runtime_zero, b_zeros);
        TestMatMulInteger<uint8_t, uint8_t>({2, 5, 29}, {2, 29, 13}, kind, runtime_zero, b_zeros);
        TestMatMulInteger<int8_t, uint8_t>({1, 64}, {64, 13}, kind, runtime_zero, b_zeros);
      }
    }
  }
}

TEST(OnednnQuantized, LongSumsAreExact) {
  ModelBuilder model;
  model.Input("a", ElementType::kInt8, {3, 9001}).Output("y", ElementType::kInt32, {3, 17});
  QuantizedConstant<int8_t>(model, "b", {9001, 17}, 5, 120, 127);
  model.Node("MatMulInteger", {"a", "b"}, {"y"});
  ExpectSameQuantized(model, {QuantizedTensor<int8_t>(Shape{3, 9001}, 4, -128, -120)}, 0, "MatMulInteger");
}

TEST(OnednnQuantized, MatMulsOverNothing) {
  ModelBuilder model;
  model.Input("a", ElementType::kUInt8, {2, -1})
      .Input("b", ElementType::kUInt8, {-1, 3})
      .Output("y", ElementType::kInt32, {2, 3});
  One<uint8_t>(model, "az", 3);
  model.Node("MatMulInteger", {"a", "b", "az"}, {"y"});
  for (int run = 0; run < 8; ++run) {  // memory that others have used
    ExpectSameQuantized(model, {QuantizedTensor<uint8_t>(Shape{2, 40}, 1), QuantizedTensor<uint8_t>(Shape{40, 3}, 2)}, 0,
                        "MatMulInteger");
    ExpectSameQuantized(model, {Tensor(ElementType::kUInt8, Shape{2, 0}), Tensor(ElementType::kUInt8, Shape{0, 3})}, 0,
                        "MatMulInteger");
  }
}

template <class A, class W, class Y>
void TestQLinearMatMul(const std::vector<int64_t>& a, const std::vector<int64_t>& b, B kind, int w_zero, int64_t scales) {
  SCOPED_TRACE(::testing::Message() << a.size() << " by " << b.size() << " dimensions, B constant "
                                    << (kind == B::kConstant) << ", zero point " << w_zero << ", scales " << scales);
  ModelBuilder model;
  std::vector<int64_t> out = a;
  out.back() = b.back();
  model.Input("a", ElementTypeOf<A>, a).Output("y", ElementTypeOf<Y>, out);
  std::vector<Value> values = {QuantizedTensor<A>(Shape(a), 4)};
  if (kind == B::kConstant) {
    QuantizedConstant<W>(model, "b", b, 5);
  } else {
    model.Input("b", ElementTypeOf<W>, b);
    values.push_back(QuantizedTensor<W>(Shape(b), 5));
  }
  One<float>(model, "as", 0.02f);
  One<A>(model, "az", 11);
  Scales(model, "bs", scales, 0.004f, 0.012f);
  One<W>(model, "bz", static_cast<W>(w_zero));
  One<float>(model, "ys", 0.3f);
  One<Y>(model, "yz", 7);
  model.Node("QLinearMatMul", {"a", "as", "az", "b", "bs", "bz", "ys", "yz"}, {"y"});
  ExpectSameQuantized(model, values, 1, "QLinearMatMul");
}

TEST(OnednnQuantized, QuantizedMatMuls) {
  for (const B kind : {B::kConstant, B::kInput}) {
    for (const int64_t scales : {1, 18}) {
      TestQLinearMatMul<uint8_t, int8_t, uint8_t>({9, 40}, {40, 18}, kind, 0, scales);
      TestQLinearMatMul<int8_t, int8_t, int8_t>({2, 9, 40}, {40, 18}, kind, 0, scales);
      TestQLinearMatMul<uint8_t, uint8_t, uint8_t>({2, 9, 40}, {40, 18}, kind, 128, scales);
      TestQLinearMatMul<uint8_t, uint8_t, int8_t>({1, 40}, {40, 18}, kind, 13, scales);
      TestQLinearMatMul<int8_t, int8_t, uint8_t>({2, 3, 40}, {2, 40, 18}, kind, -3, scales);
    }
  }
}

TEST(OnednnQuantized, DynamicallyQuantizedMatMuls) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {5, 32}).Output("y", ElementType::kFloat, {5, 24});
  QuantizedConstant<int8_t>(model, "w", {32, 24}, 5);
  Scales(model, "ws", 24, 0.004f, 0.012f);
  Scales(model, "b", 24, -1, 1);
  model.Node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
  model.Node("MatMulInteger", {"q", "w", "z"}, {"sums"});
  Int(model.Node("Cast", {"sums"}, {"f"}), "to", onnx::TensorProto::FLOAT);
  model.Node("Mul", {"s", "ws"}, {"scale"});
  model.Node("Mul", {"f", "scale"}, {"m"});
  model.Node("Add", {"m", "b"}, {"y"});
  ExpectSameQuantized(model, {RandomTensor({5, 32}, 4)}, 1e-5, "MatMulIntegerToFloat");
}

/// Quantized values go from one convolution to the next as oneDNN lays them out.
TEST(OnednnQuantized, QuantizedValuesBetweenConvolutions) {
  ModelBuilder model;
  model.Input("x", ElementType::kUInt8, {1, 16, 10, 10}).Output("y", ElementType::kUInt8, {1, 16, 10, 10});
  QuantizedConstant<int8_t>(model, "w", {16, 16, 3, 3}, 3, -127, 127);
  One<float>(model, "xs", 0.02f);
  One<uint8_t>(model, "xz", 120);
  One<float>(model, "ws", 0.01f);
  One<int8_t>(model, "wz", 0);
  One<float>(model, "ys", 0.3f);
  One<uint8_t>(model, "yz", 120);
  Ints(model.Node("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"}, {"c"}), "pads", {1, 1, 1, 1});
  Ints(model.Node("QLinearConv", {"c", "ys", "yz", "w", "ws", "wz", "ys", "yz"}, {"y"}), "pads", {1, 1, 1, 1});
  ExpectSameQuantized(model, {QuantizedTensor<uint8_t>(Shape{1, 16, 10, 10}, 4)}, 2, "QLinearConv");
}

/// A block of ResNet in quantized values, between its float borders: nothing leaves oneDNN.
TEST(OnednnQuantized, QuantizedResiduals) {
  if (!onednn::HasQuantizedGemm()) GTEST_SKIP() << "no VNNI";
  for (const char* op : {"QLinearAdd", "QLinearMul"}) {
    SCOPED_TRACE(op);
    ModelBuilder model;
    auto* import = model.proto().add_opset_import();
    import->set_domain("com.microsoft");
    import->set_version(1);
    model.Input("x", ElementType::kFloat, {2, 16, 10, 10}).Output("y", ElementType::kFloat, {2, 400});
    QuantizedConstant<int8_t>(model, "w", {16, 16, 3, 3}, 3, -127, 127);
    for (const char* name : {"xs", "ys"}) One<float>(model, name, name[0] == 'x' ? 0.02f : 0.3f);
    One<uint8_t>(model, "z", 120);
    One<float>(model, "ws", 0.01f);
    One<int8_t>(model, "wz", 0);
    model.Node("QuantizeLinear", {"x", "xs", "z"}, {"q"});
    Ints(model.Node("MaxPool", {"q"}, {"p"}), "kernel_shape", {2, 2});
    Ints(*model.proto().mutable_graph()->mutable_node(1), "pads", {1, 1, 0, 0});
    Ints(model.Node("QLinearConv", {"p", "xs", "z", "w", "ws", "wz", "ys", "z"}, {"c"}), "pads", {1, 1, 1, 1});
    model.Node(op, {"c", "ys", "z", "p", "xs", "z", "ys", "z"}, {"s"}).set_domain("com.microsoft");
    auto& pool = model.Node("MaxPool", {"s"}, {"d"});
    Ints(pool, "kernel_shape", {2, 2});
    Ints(pool, "strides", {2, 2});
    Ints(model.Node("Transpose", {"d"}, {"t"}), "perm", {0, 2, 3, 1});
    model.Node("Flatten", {"t"}, {"f"});
    model.Node("DequantizeLinear", {"f", "ys", "z"}, {"y"});
    const std::vector<Value> inputs = {RandomTensor({2, 16, 10, 10}, 4)};
    SessionOptions options = OnProvider("dnnl"), plain = OnProvider("cpu");
    options.optimization_level = plain.optimization_level = OptimizationLevel::kNone;
    const Session session = model.Session(options);
    for (const auto& node : session.placement().nodes) EXPECT_EQ(node.provider, "DnnlExecutionProvider") << node.op_type;
    std::vector<Value> result(1), expected(1);
    session.Run(inputs, result);
    model.Session(plain).Run(inputs, expected);
    const auto actual = ToVector(result[0]), wanted = ToVector(expected[0]);
    ASSERT_EQ(actual.size(), wanted.size());
    for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], wanted[i], 0.31f) << i;  // a quantized value at most
  }
}

/// The CPU provider multiplies quantized values faster.
TEST(OnednnQuantized, LeavesQuantizedValuesByDefault) {
  if (!onednn::HasQuantizedGemm()) GTEST_SKIP() << "no VNNI";
  ModelBuilder model;
  model.Input("a", ElementType::kUInt8, {8, 64}).Output("y", ElementType::kInt32, {8, 32});
  QuantizedConstant<int8_t>(model, "b", {64, 32}, 5);
  model.Node("MatMulInteger", {"a", "b"}, {"y"});
  SessionOptions options;
  options.providers = {{"dnnl", {}}};
  const Session session = model.Session(options);
  EXPECT_EQ(session.placement().nodes[0].provider, "CPUExecutionProvider");
}

/// Weights whose distance from their zero point takes nine bits are not what oneDNN multiplies by.
TEST(OnednnQuantized, WideWeightsAreLeft) {
  if (!onednn::HasQuantizedGemm()) GTEST_SKIP() << "no VNNI";
  ModelBuilder model;
  model.Input("x", ElementType::kUInt8, {1, 4, 3, 3}).Output("y", ElementType::kInt32, {1, 4, 3, 3});
  QuantizedConstant<uint8_t>(model, "w", {4, 4, 1, 1}, 3, 250, 255);
  One<uint8_t>(model, "xz", 3);
  One<uint8_t>(model, "wz", 12);
  model.Node("ConvInteger", {"x", "w", "xz", "wz"}, {"y"});
  const Session session = model.Session(OnProvider("dnnl"));
  EXPECT_EQ(session.placement().nodes[0].provider, "CPUExecutionProvider");
  EXPECT_NE(session.placement().nodes[0].refusals[0].second.find("do not fit int8"), std::string::npos);
}

/// Of one quantized tensor, from DequantizeLinear to QuantizeLinear: the CPU provider's, which makes a table. What reads
/// two is claimed, as are floats that are not quantized again.
TEST(OnednnQuantized, FunctionsOfOneValueAreLeft) {
  ModelBuilder model;
  model.Input("x", ElementType::kUInt8, {4, 64}).Input("z", ElementType::kUInt8, {4, 64});
  model.Output("y", ElementType::kUInt8, {4, 64}).Output("f", ElementType::kFloat, {4, 64});
  model.Floats("s", {}, {0.02f}).Floats("two", {1}, {2});
  One<uint8_t>(model, "zero", 120);
  model.Node("DequantizeLinear", {"x", "s", "zero"}, {"xd"});
  model.Node("Tanh", {"xd"}, {"t"});
  model.Node("Mul", {"t", "two"}, {"m"});
  model.Node("QuantizeLinear", {"m", "s", "zero"}, {"q"});
  model.Node("DequantizeLinear", {"q", "s", "zero"}, {"qd"});
  model.Node("DequantizeLinear", {"z", "s", "zero"}, {"zd"});
  model.Node("Sub", {"qd", "zd"}, {"d"});
  model.Node("QuantizeLinear", {"d", "s", "zero"}, {"y"});
  model.Node("Sigmoid", {"zd"}, {"f"});
  const Session session = model.Session(OnProvider("dnnl"));
  std::multiset<std::string> left;
  bool has_sub = false;
  for (const auto& node : session.placement().nodes) {
    if (node.provider == "CPUExecutionProvider") left.insert(node.op_type);
    has_sub |= node.op_type == "Sub" && node.provider == "DnnlExecutionProvider";
  }
  EXPECT_EQ(left, std::multiset<std::string>{"QuantizedLookup"});
  EXPECT_TRUE(has_sub);
}

}  // namespace
}  // namespace tessera::testing
