// Models of float16 and bfloat16 that compute with float32 between their borders.

#include <gmock/gmock.h>

#include <algorithm>

#include "attributes.h"
#include "optimizer/rewriting.h"
#include "waves.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Fp16Model : public ModelBuilder {
 public:
  explicit Fp16Model(ElementType type, int opset = 17) : ModelBuilder(opset), type_(type) {}

  Fp16Model& HalfInput(const std::string& name, const std::vector<int64_t>& dims) {
    Input(name, type_, dims);
    return *this;
  }
  Fp16Model& HalfOutput(const std::string& name, const std::vector<int64_t>& dims) {
    Output(name, type_, dims);
    return *this;
  }
  Fp16Model& Halves(const std::string& name, const std::vector<int64_t>& dims, float step = 0.37f) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    std::vector<uint16_t> bits;
    for (const float value : Waves(count, step))
      bits.push_back(type_ == ElementType::kFloat16 ? Float16(value).bits : BFloat16(value).bits);
    const auto* bytes = reinterpret_cast<const uint8_t*>(bits.data());
    Constant(name, dims, std::span(bytes, bits.size() * sizeof(uint16_t)), static_cast<onnx::TensorProto::DataType>(type_));
    return *this;
  }

 private:
  ElementType type_;
};

class UpcastFp16Test : public ::testing::TestWithParam<ElementType> {};

TEST_P(UpcastFp16Test, ValuesStayFloatBetweenOperators) {
  Fp16Model model(GetParam());
  model.HalfInput("x", {3, 20}).HalfOutput("y", {3, 4}).Halves("w", {20, 16}).Halves("b", {16}).Halves("v", {16, 4}, 0.9f);
  model.Node("MatMul", {"x", "w"}, {"p"});
  model.Node("Add", {"p", "b"}, {"s"});
  model.Node("Relu", {"s"}, {"r"});
  model.Node("MatMul", {"r", "v"}, {"y"});
  const Rewriting widened(model, {"upcast_fp16", "fold_constants"});
  EXPECT_EQ(widened.after(), "Cast MatMul Add Relu MatMul Cast");
  EXPECT_EQ(widened.Difference(1, 3, true), "");
}

TEST_P(UpcastFp16Test, WhatMovesElementsIsAsWideAsTheyAre) {
  Fp16Model model(GetParam());
  model.HalfInput("x", {3, 4})
      .HalfInput("past", {5, 4})
      .HalfOutput("y", {8, 3})
      .HalfOutput("present", {8, 4})
      .Halves("w", {4, 4});
  model.Node("MatMul", {"x", "w"}, {"p"});
  Ints(model.Node("Transpose", {"p"}, {"t"}), "perm", {1, 0});
  Int(model.Node("Concat", {"past", "p"}, {"present"}), "axis", 0);
  model.Node("MatMul", {"present", "t"}, {"y"});
  const Rewriting widened(model, {"upcast_fp16", "fold_constants"});
  const Graph& graph = widened.graph();
  for (const NodeIndex index : graph.TopologicalOrder()) {
    const Node& node = graph.node(index);
    const ElementType type = graph.value(node.outputs[0]).type.element;
    if (node.op_type == "Concat") {
      EXPECT_EQ(type, GetParam());  // what callers keep is not converted to and fro
    } else if (node.op_type == "Transpose") {
      EXPECT_EQ(type, ElementType::kFloat);
    }
  }
  EXPECT_EQ(widened.Difference(2, 3, true), "");
}

TEST_P(UpcastFp16Test, ThereMustBeAMatMul) {
  Fp16Model model(GetParam());
  model.HalfInput("x", {3, 4}).HalfOutput("y", {3, 4}).Halves("b", {4});
  model.Node("Add", {"x", "b"}, {"s"});
  model.Node("Relu", {"s"}, {"y"});
  EXPECT_EQ(Rewriting(model, {"upcast_fp16"}).after(), "Add Relu");
}

TEST_P(UpcastFp16Test, TheModelsOwnConversions) {
  Fp16Model model(GetParam());
  model.HalfInput("x", {3, 4}).HalfOutput("y", {3, 4}).Halves("w", {4, 4});
  model.Node("MatMul", {"x", "w"}, {"p"});
  Int(model.Node("Cast", {"p"}, {"f"}), "to", static_cast<int64_t>(ElementType::kFloat));  // is float already
  model.Node("Floor", {"f"}, {"g"});
  Int(model.Node("Cast", {"g"}, {"h"}), "to", static_cast<int64_t>(GetParam()));  // would round
  model.Node("MatMul", {"h", "w"}, {"y"});
  EXPECT_EQ(Rewriting(model, {"upcast_fp16", "fold_constants", "eliminate_identities", "eliminate_dead_nodes"}).after(),
            "Cast MatMul Floor MatMul Cast");
}

TEST_P(UpcastFp16Test, LargeMatricesStayAsTheyAre) {
  for (const bool gemm : {false, true}) {
    Fp16Model model(GetParam());
    model.HalfInput("x", {2, 256}).HalfOutput("y", {2, 128});
    model.Halves("w", gemm ? std::vector<int64_t>{128, 256} : std::vector<int64_t>{256, 128}).Halves("b", {128});
    if (gemm) Int(model.Node("Gemm", {"x", "w", "b"}, {"y"}), "transB", 1);
    else model.Node("MatMul", {"x", "w"}, {"y"});
    SessionOptions options;
    options.providers = {{"cpu", {}}};
    std::vector<std::string> operators;
    const Session session = model.Session(options);
    for (const auto& node : session.placement().nodes) operators.push_back(node.op_type);
    EXPECT_THAT(operators, ::testing::ElementsAre("Cast", "Linear", "Cast"));
    const Rewriting rounded(model, {"upcast_fp16", "fold_constants", "fold_matrices"});
    EXPECT_EQ(rounded.after(),
              gemm ? "Cast Gemm Cast" : "Cast MatMul Cast");  // where nothing takes them, they become floats
    EXPECT_EQ(rounded.Difference(3, 3, true), "");
  }
}

TEST_P(UpcastFp16Test, RoundsWhereAsked) {
  Fp16Model model(GetParam());
  model.HalfInput("x", {2, 256}).HalfOutput("y", {2, 128}).Halves("w", {256, 128});
  model.Node("MatMul", {"x", "w"}, {"p"});
  model.Node("Tanh", {"p"}, {"r"});
  model.Node("Exp", {"r"}, {"y"});
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.config = {{"session.round_halves", "1"}};
  const Session rounding = model.Session(options);
  for (const auto& node : rounding.placement().nodes) {
    EXPECT_THAT(node.op_type, Not(HasSubstr("Cast")));
    EXPECT_NE(node.op_type, "Linear");
  }
  options.optimization_level = OptimizationLevel::kNone;
  const Session plain = model.Session(options);
  const std::vector<Value> inputs = MakeInputs(plain, 4, 2);
  std::vector<Value> expected(1), given(1);
  plain.Run(inputs, expected);
  rounding.Run(inputs, given);
  const Tensor &e = expected[0].tensor(), &g = given[0].tensor();
  EXPECT_EQ(std::memcmp(e.raw(), g.raw(), e.byte_size()), 0);
}

INSTANTIATE_TEST_SUITE_P(Types, UpcastFp16Test, ::testing::Values(ElementType::kFloat16, ElementType::kBFloat16),
                         [](const auto& info) { return std::string(ElementTypeName(info.param)); });

}  // namespace
}  // namespace tessera::testing
