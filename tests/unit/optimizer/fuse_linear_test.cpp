#include <cmath>

#include "attributes.h"
#include "optimizer/rewriting.h"
#include "waves.h"

namespace tessera::testing {
namespace {

constexpr int64_t kK = 19, kN = 37;

struct Outcome {
  std::vector<Tensor> tensors;
  std::string operators;
};

Outcome RunAt(ModelBuilder& model, OptimizationLevel level, const std::vector<Value>& inputs, size_t outputs) {
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.optimization_level = level;
  options.intra_op_threads = 2;
  const Session session = model.Session(options);
  Outcome outcome;
  for (const PlacementReport::NodeEntry& node : session.placement().nodes) {
    outcome.operators += (outcome.operators.empty() ? "" : " ") + node.op_type;
  }
  std::vector<Value> results(outputs);
  session.Run(inputs, results);
  for (const Value& result : results) outcome.tensors.push_back(result.tensor());
  return outcome;
}

/// Expects these operators when optimized, and the same results.
void Check(ModelBuilder& model, std::vector<Shape> shapes, const std::string& operators, size_t outputs = 1) {
  std::vector<Value> inputs;
  for (const Shape& shape : shapes) {
    Tensor x(ElementType::kFloat, shape);
    const auto numbers = Waves(x.num_elements(), 0.71f + static_cast<float>(inputs.size()));
    std::copy(numbers.begin(), numbers.end(), x.mutable_data<float>());
    inputs.push_back(Value(std::move(x)));
  }
  const Outcome expected = RunAt(model, OptimizationLevel::kNone, inputs, outputs);
  const Outcome given = RunAt(model, OptimizationLevel::kAll, inputs, outputs);
  EXPECT_EQ(given.operators, operators);
  for (size_t t = 0; t < outputs; ++t) {
    const Tensor &e = expected.tensors[t], &g = given.tensors[t];
    ASSERT_EQ(g.shape(), e.shape());
    for (int64_t i = 0; i < e.num_elements(); ++i)
      ASSERT_NEAR(g.data<float>()[i], e.data<float>()[i], 1e-4f) << t << ", " << i;
  }
}

/// Inputs x [batch, rows, K] and r, as large as the result of the matmul; constants w, b, and output y.
ModelBuilder Start(std::vector<int64_t> leading) {
  ModelBuilder model(17);
  auto x = leading, r = leading;
  x.push_back(kK);
  r.push_back(kN);
  model.Input("x", ElementType::kFloat, x).Input("r", ElementType::kFloat, r);
  model.Output("y", ElementType::kFloat, std::vector<int64_t>(r.size(), -1));
  model.Floats("w", {kK, kN}, Waves(kK * kN, 0.37f)).Floats("b", {kN}, Waves(kN, 1.1f));
  return model;
}

TEST(FuseLinear, BiasResidualAndActivation) {
  for (const std::vector<int64_t>& leading : {std::vector<int64_t>{5}, {1}, {2, 7}, {2, 1, 3}}) {
    for (const std::string activation : {"", "Relu", "LeakyRelu", "HardSigmoid"}) {
      for (const bool bias : {true, false}) {
        for (const bool residual : {true, false}) {
          if (!bias && !residual) continue;
          ModelBuilder model = Start(leading);
          std::string at = "p";
          model.Node("MatMul", {"x", "w"}, {at});
          const auto next = [&](bool last) { return last && activation.empty() ? std::string("y") : at + "'"; };
          if (bias) {
            const std::string to = next(!residual);
            model.Node("Add", {"b", at}, {to});
            at = to;
          }
          if (residual) {
            const std::string to = next(true);
            model.Node("Add", {at, "r"}, {to});
            at = to;
          }
          if (!activation.empty()) model.Node(activation, {at}, {"y"});
          std::vector<Shape> shapes(2, Shape(leading));
          shapes[0].Append(kK);
          shapes[1].Append(kN);
          // Matrices become Gemm, which has the bias.
          const bool gemm = leading.size() == 1 && activation.empty() && bias != residual;
          Check(model, shapes, gemm ? "Gemm" : "Linear");
        }
      }
    }
  }
}

TEST(FuseLinear, TwoMatMulsAndGemm) {
  ModelBuilder model = Start({2, 3});
  model.Floats("v", {kN, kN}, Waves(kN * kN, 0.77f));
  model.Node("MatMul", {"x", "w"}, {"p"});
  model.Node("MatMul", {"r", "v"}, {"q"});
  model.Node("Add", {"p", "q"}, {"y"});
  Check(model, {{2, 3, kK}, {2, 3, kN}}, "MatMul Linear");

  ModelBuilder gemm = Start({4});
  gemm.Floats("t", {kN, kK}, Waves(kN * kK, 0.9f));
  Int(gemm.Node("Gemm", {"x", "t", "b"}, {"p"}), "transB", 1);
  gemm.Node("Add", {"p", "r"}, {"s"});
  gemm.Node("Relu", {"s"}, {"y"});
  Check(gemm, {{4, kK}, {4, kN}}, "Linear");
}

TEST(FuseLinear, StaysWhereItMustNot) {
  ModelBuilder output = Start({2, 3});  // the matmul is a result, too
  output.Output("p", ElementType::kFloat, {2, 3, kN});
  output.Node("MatMul", {"x", "w"}, {"p"});
  output.Node("Add", {"p", "r"}, {"y"});
  Check(output, {{2, 3, kK}, {2, 3, kN}}, "MatMul Add", 2);

  ModelBuilder twice = Start({2, 3});
  twice.Node("MatMul", {"x", "w"}, {"p"});
  twice.Node("Add", {"p", "p"}, {"y"});
  Check(twice, {{2, 3, kK}, {2, 3, kN}}, "MatMul Add");

  ModelBuilder two_readers = Start({2, 3});
  two_readers.Node("MatMul", {"x", "w"}, {"p"});
  two_readers.Node("Add", {"p", "r"}, {"s"});
  two_readers.Node("Mul", {"s", "p"}, {"y"});
  Check(two_readers, {{2, 3, kK}, {2, 3, kN}}, "MatMul Add Mul");

  ModelBuilder grows = Start({3});  // the sum is larger than the result of the matmul
  grows.Input("z", ElementType::kFloat, {2, 3, kN});
  grows.Output("u", ElementType::kFloat, {2, 3, kN});
  grows.Node("MatMul", {"x", "w"}, {"p"});
  grows.Node("Add", {"p", "z"}, {"u"});
  grows.Node("Neg", {"r"}, {"y"});
  Check(grows, {{3, kK}, {3, kN}, {2, 3, kN}}, "MatMul Add Neg", 2);

  ModelBuilder runtime = Start({2, 3});  // the matrix is no constant
  runtime.Input("m", ElementType::kFloat, {kK, kN});
  runtime.Node("MatMul", {"x", "m"}, {"p"});
  runtime.Node("Add", {"p", "r"}, {"y"});
  Check(runtime, {{2, 3, kK}, {2, 3, kN}, {kK, kN}}, "MatMul Add");
}

}  // namespace
}  // namespace tessera::testing
