#include "runtime/profile/work.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/node_of.h"

namespace tessera::testing {
namespace {

constexpr int64_t kOmitted = -7;

struct WorkCase {
  Node node;
  std::vector<std::vector<int64_t>> inputs, outputs;  // {kOmitted}: none
  double flops;
};

double FlopsOf(const WorkCase& c) {
  const auto shapes_of = [](const std::vector<std::vector<int64_t>>& all) {
    std::vector<Shape> shapes;
    for (const auto& dims : all) shapes.emplace_back(std::span<const int64_t>(dims));
    return shapes;
  };
  const auto pointers_to = [](const std::vector<Shape>& shapes) {
    std::vector<const Shape*> pointers;
    for (const Shape& shape : shapes) pointers.push_back(shape.rank() == 1 && shape[0] == kOmitted ? nullptr : &shape);
    return pointers;
  };
  const auto inputs = shapes_of(c.inputs), outputs = shapes_of(c.outputs);
  return tessera::FlopsOf(c.node, pointers_to(inputs), pointers_to(outputs));
}

void ExpectFlops(const std::vector<WorkCase>& cases) {
  for (const WorkCase& c : cases) EXPECT_EQ(FlopsOf(c), c.flops) << c.node.domain << ' ' << c.node.op_type;
}

const std::vector<int64_t> kNothing = {kOmitted};
const std::string kMicrosoft = "com.microsoft";

TEST(Work, KnowsConvolutions) {
  const auto kind = [](const std::string& op_type) { return ConvolutionKindOf(NodeOf(op_type, 1)); };
  for (const std::string op_type : {"Conv", "Nchw8cConv", "FusedConv", "QLinearConv"})
    EXPECT_EQ(kind(op_type), ConvolutionKind::kDirect) << op_type;
  for (const std::string op_type : {"ConvTranspose", "Nchw8cConvTranspose"})
    EXPECT_EQ(kind(op_type), ConvolutionKind::kTransposed) << op_type;
  for (const std::string op_type : {"MatMulNBits", "Relu", "Zeta"})
    EXPECT_EQ(kind(op_type), ConvolutionKind::kNone) << op_type;
}

TEST(Work, OfMatMulsAndConvolutions) {
  ExpectFlops({
      {NodeOf("MatMul", 13), {{2, 3, 4}, {4, 5}}, {{2, 3, 5}}, 2.0 * 2 * 3 * 4 * 5},
      {NodeOf("Gemm", 13, {{"transA", int64_t{1}}}), {{4, 3}, {4, 5}}, {{3, 5}}, 2.0 * 3 * 4 * 5},
      {NodeOf("TransposeMatMul", 1, {}, kMicrosoft), {{3, 4}, {4, 5}}, {{3, 5}}, 2.0 * 3 * 4 * 5},
      {NodeOf("Conv", 11), {{1, 3, 8, 8}, {16, 3, 3, 3}}, {{1, 16, 6, 6}}, 2.0 * 16 * 36 * 27},
      {NodeOf("DeformConv", 19), {{1, 3, 8, 8}, {16, 3, 3, 3}, {1, 18, 6, 6}}, {{1, 16, 6, 6}}, 2.0 * 16 * 36 * 27},
      {NodeOf("QLinearConv", 10),
       {{1, 3, 8, 8}, {}, {}, {16, 3, 3, 3}, {}, {}, {}, {}},
       {{1, 16, 6, 6}},
       2.0 * 16 * 36 * 27},
      {NodeOf("CausalConvWithState", 27), {{2, 6, 10}, {6, 1, 4}}, {{2, 6, 10}, {2, 6, 3}}, 2.0 * 2 * 6 * 10 * 4},
      {NodeOf("MatMul", 13), {kNothing, {4, 5}}, {{3, 5}}, 0},
  });
}

TEST(Work, OfEinsum) {
  const auto einsum = [](const std::string& equation) {
    Node node = NodeOf("Einsum", 12, {{"equation", equation}});
    node.inputs.resize(1 + static_cast<size_t>(std::ranges::count(equation, ',')));
    return node;
  };
  ExpectFlops({
      {einsum("bij,bjk->bik"), {{2, 3, 4}, {2, 4, 5}}, {{2, 3, 5}}, 2.0 * 2 * 3 * 4 * 5},
      {einsum("...ij,jk->...ik"), {{2, 7, 3, 4}, {4, 5}}, {{2, 7, 3, 5}}, 2.0 * 2 * 7 * 3 * 4 * 5},
      {einsum("i...j,j->i..."), {{3, 2, 4}, {4}}, {{3, 2}}, 2.0 * 3 * 2 * 4},
      {einsum("ij,jk,k->i"), {{2, 3}, {3, 4}, {4}}, {{2}}, 3.0 * 2 * 3 * 4},
      {einsum("ij->i"), {{2, 3}}, {{2}}, 6},
      {einsum("ij->ji"), {{2, 3}}, {{3, 2}}, 0},
      {einsum("ij,jk"), {{2, 3}, kNothing}, {{2, 4}}, 0},
  });
}

TEST(Work, OfAttention) {
  const std::vector<int64_t> past = {2, 4, 5, 16};
  ExpectFlops({
      {NodeOf("Attention", 23),
       {{2, 4, 3, 16}, {2, 4, 7, 16}, {2, 4, 7, 8}},
       {{2, 4, 3, 8}},
       2.0 * 2 * 4 * 3 * 7 * (16 + 8)},
      {NodeOf("Attention", 23),
       {{2, 3, 64}, {2, 7, 64}, {2, 7, 64}, kNothing, past, past},
       {{2, 3, 64}},
       2.0 * 2 * 3 * 12 * (64 + 64)},
      {NodeOf("Attention", 1, {{"columns", std::vector<int64_t>{0, 64, 64, 128, 128, 192}}}, "ai.tessera"),
       {{2, 3, 192}, {2, 3, 192}, {2, 3, 192}},
       {{2, 3, 64}},
       2.0 * 2 * 3 * 3 * (64 + 64)},
      {NodeOf("Attention", 1, {}, kMicrosoft),
       {{2, 3, 32}, {32, 192}, {192}, kNothing, {2, 2, 4, 5, 16}},
       {{2, 3, 64}},
       2.0 * 2 * 3 * 32 * 192 + 2.0 * 2 * 3 * 8 * (64 + 64)},
      {NodeOf("MultiHeadAttention", 1, {}, kMicrosoft),
       {{2, 3, 64}, {2, 7, 64}, {2, 7, 64}},
       {{2, 3, 64}},
       2.0 * 2 * 3 * 7 * 128},
      {NodeOf("MultiHeadAttention", 1, {}, kMicrosoft),
       {{2, 3, 64}, {2, 4, 7, 16}, {2, 4, 7, 16}},
       {{2, 3, 64}},
       2.0 * 2 * 3 * 7 * 128},
      {NodeOf("MultiHeadAttention", 1, {}, kMicrosoft), {{2, 3, 4, 3, 16}}, {{2, 3, 64}}, 2.0 * 2 * 3 * 3 * 128},
      {NodeOf("DecoderMaskedMultiHeadAttention", 1, {}, kMicrosoft),
       {{2, 1, 64}, {2, 1, 64}, {2, 1, 64}, kNothing, kNothing, past, past},
       {{2, 1, 64}},
       2.0 * 2 * 6 * 128},
      {NodeOf("GroupQueryAttention", 1, {}, kMicrosoft),
       {{2, 1, 64}, {2, 1, 32}, {2, 1, 32}, {2, 2, 9, 16}, {2, 2, 9, 16}},
       {{2, 1, 64}, {2, 2, 10, 16}, {2, 2, 10, 16}},
       2.0 * 2 * 10 * 128},
      {NodeOf("GroupQueryAttention", 1, {}, kMicrosoft), {{2, 3, 128}}, {{2, 3, 64}}, 2.0 * 2 * 3 * 3 * 128},
  });
}

TEST(Work, OfLinearAttention) {
  const std::vector<Attribute> heads = {
      {"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}, {"update_rule", std::string("linear")}};
  Node node = NodeOf("LinearAttention", 27, heads);
  node.inputs = {0, 1, 2};
  ExpectFlops(
      {{node, {{2, 3, 64}, {2, 3, 32}, {2, 3, 20}}, {{2, 3, 40}, {2, 2, 16, 10}}, 2.0 * 16 * (2 * 3 * 40 + 2 * 3 * 20)}});
}

TEST(Work, OfExpertsAndOtherOperators) {
  ExpectFlops({
      {NodeOf("MoE", 1, {{"k", int64_t{2}}}, kMicrosoft),
       {{5, 8}, {5, 4}, {4, 24, 8}, kNothing, {4, 8, 24}},
       {{5, 8}},
       2.0 * 5 * 2 * (24 * 8 + 8 * 24)},
      {NodeOf("QMoE", 1, {}, kMicrosoft),
       {{5, 8}, {5, 4}, {4, 24, 4}, {4, 24}, kNothing, {4, 8, 12}},
       {{5, 8}},
       2.0 * 5 * (24 * 8 + 8 * 24)},
      {NodeOf("Tanh", 13), {{2, 3}}, {{2, 3}}, 6},
      {NodeOf("Add", 14), {{2, 3}, {3}}, {{2, 3}}, 6},
      {NodeOf("QLinearAdd", 1, {}, kMicrosoft), {{2, 3}}, {{2, 3}}, 6},
      {NodeOf("ReduceSum", 13), {{2, 3}}, {{2, 1}}, 6},
      {NodeOf("Transpose", 13), {{2, 3}}, {{3, 2}}, 0},
  });
}

}  // namespace
}  // namespace tessera::testing
