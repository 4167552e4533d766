#include <gmock/gmock.h>

#include <cmath>

#include "model_builder.h"
#include "precision_of.h"
#include "toy_provider.h"
#include "waves.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kK = 200, kN = 48;

/// Two matmuls with constant weights, one of them a Gemm with its weights transposed, and one with none.
ModelBuilder Model() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, kK}).Output("y", ElementType::kFloat, {-1, -1});
  model.Floats("w", {kK, kK}, Waves(kK * kK, 0.7f, 0.1f)).Floats("b", {kK}, Waves(kK, 0.7f, 1));
  model.Floats("v", {kN, kK}, Waves(kN * kK, 0.7f, 0.2f)).Floats("c", {kN}, Waves(kN, 0.7f, 1));
  model.Node("MatMul", {"x", "w"}, {"p"}, "first");
  model.Node("Add", {"p", "b"}, {"s"});
  model.Node("Relu", {"s"}, {"r"});
  auto* trans = model.Node("Gemm", {"r", "v", "c"}, {"g"}, "second").add_attribute();
  trans->set_name("transB");
  trans->set_type(onnx::AttributeProto::INT);
  trans->set_i(1);
  auto* perm = model.Node("Transpose", {"g"}, {"t"}).add_attribute();
  perm->set_name("perm");
  perm->set_type(onnx::AttributeProto::INTS);
  perm->add_ints(1);
  perm->add_ints(0);
  model.Node("Tanh", {"t"}, {"h"});
  model.Node("MatMul", {"g", "h"}, {"y"}, "third");
  return model;
}

SessionOptions At(const std::string& precision) {
  SessionOptions options;
  options.config["session.precision"] = precision;
  return options;
}

std::vector<float> ResultsOf(const Session& session, int64_t rows) {
  const std::vector<std::string> names = {"x"};
  const std::vector<Value> inputs = {Floats({rows, kK}, Waves(rows * kK, 0.7f, 1))};
  return ToVector(session.Run(names, inputs)[0]);
}

/// The root of the sum of squared differences, as a share of what is expected.
double ErrorOf(const std::vector<float>& computed, const std::vector<float>& expected) {
  double error = 0, magnitude = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += std::pow(expected[i] - computed[i], 2);
    magnitude += std::pow(expected[i], 2);
  }
  return std::sqrt(error / magnitude);
}

TEST(Precision, UnknownOnesAreErrors) {
  try {
    Model().Session(At("int7"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("int7"));
    EXPECT_THAT(error.what(), HasSubstr("int8-dynamic"));
  }
}

TEST(Precision, Int8DynamicQuantizesConstantWeights) {
  const Session exact = Model().Session(), quantized = Model().Session(At("int8-dynamic"));
  EXPECT_EQ(PrecisionOf(exact, "first"), "");
  EXPECT_EQ(PrecisionOf(quantized, "first"), "int8-dynamic");
  EXPECT_EQ(PrecisionOf(quantized, "second"), "int8-dynamic");
  EXPECT_EQ(PrecisionOf(quantized, "third"), "f32");
  EXPECT_THAT(quantized.placement().ToText(), HasSubstr("at int8-dynamic"));
  for (const int64_t rows : {1, 4, 5, 30}) {
    const double error = ErrorOf(ResultsOf(quantized, rows), ResultsOf(exact, rows));
    EXPECT_LT(error, 0.03) << rows;
    EXPECT_GT(error, 0) << rows;
  }
}

/// Any operator made of matmuls of real numbers; those of integers have no precision to lose.
TEST(Precision, IsReportedOfWhatMultipliesRealNumbers) {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, {2, 3})
      .Input("b", ElementType::kFloat, {3, 4})
      .Input("c", ElementType::kFloat, {4});
  model.Input("p", ElementType::kUInt8, {2, 3}).Input("q", ElementType::kUInt8, {3, 4});
  model.Output("y", ElementType::kFloat, {2}).Output("z", ElementType::kInt32, {2, 4});
  auto* equation = model.Node("Einsum", {"a", "b", "c"}, {"y"}, "real").add_attribute();
  equation->set_name("equation");
  equation->set_type(onnx::AttributeProto::STRING);
  equation->set_s("ij,jk,k->i");
  model.Node("MatMulInteger", {"p", "q"}, {"z"}, "integers");
  const Session session = model.Session(At("int8-dynamic"));
  EXPECT_EQ(PrecisionOf(session, "real"), "f32");
  EXPECT_EQ(PrecisionOf(session, "integers"), "");
  EXPECT_EQ(PrecisionOf(model.Session(), "real"), "");
}

TEST(Precision, WeightsThatAreNotFiniteStay) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, kK}).Output("y", ElementType::kFloat, {-1, -1});
  std::vector<float> weights = Waves(kK * kN, 0.7f, 1);
  weights[5] = INFINITY;
  model.Floats("w", {kK, kN}, weights);
  model.Node("MatMul", {"x", "w"}, {"y"}, "only");
  EXPECT_EQ(PrecisionOf(model.Session(At("int8-dynamic")), "only"), "f32");
}

/// A matmul whose weights of 4 bits the model dequantizes.
ModelBuilder DequantizedModel() {
  ModelBuilder model(25);
  model.proto().set_ir_version(13);
  model.Input("x", ElementType::kFloat, {-1, kK}).Output("y", ElementType::kFloat, {-1, kN});
  std::vector<uint8_t> quantized;
  for (int64_t i = 0; i < kK * kN / 2; ++i) quantized.push_back(static_cast<uint8_t>(i * 37));
  model.Constant("w", {kK, kN}, quantized, onnx::TensorProto::INT4);
  model.Floats("s", {}, {0.1f});
  model.Node("DequantizeLinear", {"w", "s"}, {"d"});
  model.Node("MatMul", {"x", "d"}, {"y"}, "only");
  return model;
}

TEST(Precision, AccuracyLevelOfDequantizedWeights) {
  const auto at = [](const std::string& level) {
    SessionOptions options;
    options.config["session.qdq_matmulnbits_accuracy_level"] = level;
    return options;
  };
  const ModelBuilder model = DequantizedModel();
  const Session exact = model.Session();
  const std::vector<float> expected = ResultsOf(exact, 3);
  for (const char* level : {"0", "1", "2", "3"}) EXPECT_EQ(ResultsOf(model.Session(at(level)), 3), expected) << level;
  const Session quantized = model.Session(at("4"));
  EXPECT_EQ(PrecisionOf(exact, "only"), "");
  EXPECT_EQ(PrecisionOf(quantized, "only"), "int8-dynamic");
  const std::vector<float> computed = ResultsOf(quantized, 3);
  EXPECT_LT(ErrorOf(computed, expected), 0.03);
  EXPECT_GT(ErrorOf(computed, expected), 0);
  try {
    model.Session(at("5"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'5', expected a number from 0 to 4"));
  }
}

TEST(Precision, ProvidersSayWhatTheyRound) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {4}).Output("y", ElementType::kFloat, {4});
  model.Node("Mul", {"x", "x"}, {"p"}, "product");
  model.Node("Add", {"p", "x"}, {"y"}, "sum");
  const Session session = model.Session(OnToy({{"rounds", "1"}}));
  EXPECT_EQ(PrecisionOf(session, "product"), "bf16");
  EXPECT_EQ(PrecisionOf(session, "sum"), "");
  EXPECT_THAT(session.placement().ToText(), HasSubstr("at bf16"));
}

/// Without the instructions these sessions run at float32, and say so.
TEST(Precision, HalfPrecisionsRunEverywhere) {
  const std::vector<float> expected = ResultsOf(Model().Session(), 3);
  for (const char* precision : {"bf16", "bf16-weights", "fp16"}) {
    const std::vector<float> computed = ResultsOf(Model().Session(At(precision)), 3);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(computed[i], expected[i], 0.02f * (1 + std::abs(expected[i])));
  }
}

}  // namespace
}  // namespace tessera::testing
