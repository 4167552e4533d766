#include "graph/private_names.h"
#include "optimizer/quantized_model.h"
#include "optimizer/rewriting.h"
#include "session/session_state.h"

namespace tessera::testing {
namespace {

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

/// x * Sigmoid(x) with quantized values between, beside others that passes make operators on quantized values of.
QuantizedModel GatedConvolution() {
  QuantizedModel q({2, 4, 5, 5}, 4, ElementType::kUInt8);
  q.Weights("w", {4, 4, 3, 3}, 0, 60);
  Ints(q.model().Node("Conv", {"xd", "w"}, {"c"}), "pads", {1, 1, 1, 1});
  q.Quantize("c", "cd", 0.05f, 125);
  q.model().Node("Sigmoid", {"cd"}, {"s"});
  q.Quantize("s", "sd", 1.0f / 256, 0);
  q.model().Node("Mul", {"cd", "sd"}, {"g"});
  q.Quantize("g", "gd", 0.05f, 10);
  q.model().Node("Add", {"gd", "xd"}, {"a"});
  q.Quantize("a", "y", 0.06f, 100);
  return q;
}

TEST(QuantizedFunctions, BecomeATableBesideOthers) {
  Tensor x(ElementType::kFloat, Shape{2, 4, 5, 5});
  std::ranges::fill(x.mutable_values<float>(), 0.5f);
  EXPECT_EQ(RunAt(GatedConvolution().model(), OptimizationLevel::kAll, Value(x)).operators,
            "QuantizeLinear QLinearConv QuantizedLookup QLinearAdd DequantizeLinear");
}

/// What is left when the portable passes are done, which ask for no provider.
TEST(QuantizedFunctions, AreOperatorsOfOnnxUntilTheyAreLowered) {
  const std::string bytes = GatedConvolution().model().bytes();
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  const Session session(std::as_bytes(std::span(bytes)), options);
  Model model = LoadModel(std::as_bytes(std::span(bytes)), nullptr, {});
  OptimizeGraph(*model.graph, session.state()->model->resources, {});
  std::multiset<std::string> operators;
  for (const NodeIndex index : model.graph->TopologicalOrder()) {
    EXPECT_FALSE(IsPrivateDomain(model.graph->node(index).domain)) << model.graph->node(index).Label();
    operators.insert(model.graph->node(index).op_type);
  }
  EXPECT_THAT(operators, ::testing::IsSupersetOf({"QLinearConv", "QLinearAdd", "Sigmoid", "Mul"}));
  EXPECT_THAT(operators, ::testing::Not(::testing::Contains("QLinearMul")));
}

TEST(QuantizedFunctions, OfSeveralOperandsBecomeATable) {
  for (const std::string op : {"Sum", "Mean", "Max"}) {
    QuantizedModel q({4, 64}, 2, ElementType::kUInt8);
    q.model().Floats("half", {}, {0.5f});
    q.model().Node("Neg", {"xd"}, {"n"});
    q.model().Node(op, {"xd", "half", "n"}, {"s"});
    q.Quantize("s", "y", 0.02f, q.Zero());
    ExpectSame(q.model(), {4, 64}, "QuantizeLinear QuantizedLookup DequantizeLinear", 1e-6f);
  }
}

TEST(QuantizedFunctions, OfARemainderBecomeATable) {
  QuantizedModel q({4, 64}, 2, ElementType::kInt8);
  q.model().Floats("most", {}, {0.7f});
  Int(q.model().Node("Mod", {"xd", "most"}, {"r"}), "fmod", 1);
  q.Quantize("r", "y", 0.02f, q.Zero());
  ExpectSame(q.model(), {4, 64}, "QuantizeLinear QuantizedLookup DequantizeLinear", 1e-6f);
}

TEST(QuantizedFunctions, WhoseConstantAddsADimensionStay) {
  QuantizedModel q({4, 10}, 3, ElementType::kUInt8);
  q.model().Floats("two", {1, 1, 1}, {2});
  q.model().Node("Mul", {"xd", "two"}, {"m"});
  q.Quantize("m", "y", 0.04f, 100);
  ExpectSame(q.model(), {4, 10}, "QuantizeLinear DequantizeLinear Mul QuantizeLinear DequantizeLinear", 1e-6f);
}

/// Adds one of com.microsoft's operators on quantized values; scales and zero points go by the names of the quantized
/// values.
void QuantizedNode(ModelBuilder& model, const std::string& op, const std::vector<std::string>& from,
                   const std::string& to) {
  std::vector<std::string> inputs;
  for (const std::string& name : from) inputs.insert(inputs.end(), {name, name + "_scale", name + "_zero"});
  inputs.insert(inputs.end(), {to + "_scale", to + "_zero"});
  ModelBuilder::AddNode(*model.proto().mutable_graph(), op, inputs, {to}).set_domain("com.microsoft");
}

/// A model of quantized values "x" whose operators of com.microsoft are to become tables: the same bytes, for all 256
/// quantized values in each case.
class QuantizedOperators : public ::testing::TestWithParam<ElementType> {
 protected:
  QuantizedOperators() : model_(17) {
    auto* import = model_.proto().add_opset_import();
    import->set_domain("com.microsoft");
    import->set_version(1);
    model_.Input("x", GetParam(), {2, 128});
    Scale("x", 0.05f, 120);
  }

  /// Declares the quantization of quantized values; `zero` is of unsigned ones.
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

}  // namespace
}  // namespace tessera::testing
