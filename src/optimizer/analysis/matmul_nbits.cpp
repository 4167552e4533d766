#include "optimizer/analysis/matmul_nbits.h"

#include "graph/microsoft/schemas.h"
#include "ops/math/gemm.h"
#include "ops/math/matmul_nbits.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/added_nodes.h"
#include "optimizer/analysis/channels.h"
#include "optimizer/analysis/edit.h"

namespace tessera {
namespace {

constexpr size_t kGroups = 4, kBias = 5;  // inputs of MatMulNBits

/// `bias` as one number for each of n columns that is added to a MatMul whose last dimension they are.
std::optional<Tensor> ColumnBias(const Tensor& bias, int64_t n) {
  // A matrix of one row and n columns says which constants do not broadcast it.
  return PerChannel(bias, ConvOrGemm{.channels = n, .rank = 2, .channel_axis = 1});
}

Node Replacement(const Node& matmul) {
  Node node;
  node.domain = kMicrosoftDomain;
  node.op_type = "MatMulNBits";
  node.name = matmul.name;
  node.since_version = 1;
  node.inputs = {matmul.inputs[0], matmul.inputs[1]};
  node.outputs = {matmul.outputs[0]};
  return node;
}

/// A * B + bias and nothing else.
bool GemmFits(const Graph& graph, const Node& gemm) {
  const GemmAttributes attributes(gemm);
  if (gemm.since_version < 7 || attributes.trans_a || attributes.alpha != 1) return false;
  if (ShapeOf(graph, gemm.inputs[0]) == nullptr || ShapeOf(graph, gemm.inputs[0])->size() != 2) return false;
  if (!HasInput(gemm, 2)) return true;
  const auto matrix = StaticShapeOf(graph, gemm.inputs[1]);
  const Tensor* bias = ConstantInput(graph, gemm, 2);
  if (!matrix || matrix->rank() != 2 || bias == nullptr || attributes.beta != 1) return false;
  return ColumnBias(*bias, (*matrix)[attributes.trans_b ? 0 : 1]).has_value();
}

}  // namespace

bool IsMatMulNBits(const Node& node) { return node.domain == kMicrosoftDomain && node.op_type == "MatMulNBits"; }

bool MayBecomeNBits(const Graph& graph, const Node& matmul, ElementType type, const RewriteContext& context) {
  const bool is_gemm = IsOp(matmul, "Gemm");
  if (!is_gemm && !IsOp(matmul, "MatMul")) return false;
  if (!HasInput(matmul, 0) || !HasInput(matmul, 1) || !HasOneOutput(matmul)) return false;
  // All that the schema of MatMulNBits takes: there is none of doubles.
  if (type != ElementType::kFloat && type != ElementType::kFloat16 && type != ElementType::kBFloat16) return false;
  if (ElementOf(graph, matmul.inputs[0]) != type || graph.constant(matmul.inputs[0]) != nullptr) return false;
  return (!is_gemm || GemmFits(graph, matmul)) && MayWrite(graph, Replacement(matmul), context);
}

NBitsConstants AddNBitsConstants(Graph& graph, const NBitsMatrix& matrix) {
  return {graph.AddConstant("", matrix.values), graph.AddConstant("", matrix.scales),
          matrix.zeros.defined() ? graph.AddConstant("", matrix.zeros) : kNone};
}

NodeIndex ReplaceByNBits(Graph& graph, NodeIndex index, const NBitsMatrix& matrix, const NBitsConstants& constants) {
  const Node& matmul = graph.node(index);
  Node node = Replacement(matmul);
  node.inputs = {matmul.inputs[0], constants.values, constants.scales};
  if (constants.zeros != kNone) node.inputs.push_back(constants.zeros);
  if (IsOp(matmul, "Gemm") && HasInput(matmul, 2)) {
    const auto bias = ColumnBias(*ConstantInput(graph, matmul, 2), matrix.n);
    node.inputs.resize(kBias, kNone);
    node.inputs.push_back(graph.AddConstant("", *bias));
  }
  SetAttribute(node, "K", matrix.k);
  SetAttribute(node, "N", matrix.n);
  SetAttribute(node, "bits", matrix.bits);
  SetAttribute(node, "block_size", matrix.block_size);
  graph.RemoveNode(index);
  return graph.AddNode(std::move(node), index);
}

bool AllowInt8(Node& node) {
  const auto attributes = ValidAttributes<MatMulNBitsAttributes>(node);
  if (!attributes || attributes->bits == 2 || HasInput(node, kGroups) || attributes->accuracy_level == kInt8AccuracyLevel)
    return false;
  SetAttribute(node, "accuracy_level", kInt8AccuracyLevel);
  node.hints.precision = Precision::kInt8Dynamic;
  return true;
}

bool FoldNBitsBias(Graph& graph, NodeIndex index) {
  const Node& node = graph.node(index);
  if (HasInput(node, kBias) || node.inputs.empty() || !HasOneOutput(node) || !HasOneReader(graph, node.outputs[0]))
    return false;
  const ValueIndex matmul = node.outputs[0];
  const Node& add = graph.node(graph.value(matmul).consumers[0]);
  const SymbolicShape* shape = ShapeOf(graph, matmul);
  if (!IsOp(add, "Add") || add.since_version < 7 || add.inputs.size() != 2 || shape == nullptr) return false;
  const Tensor* added = ConstantInput(graph, add, add.inputs[0] == matmul ? 1 : 0);
  if (added == nullptr || added->type() != ElementOf(graph, matmul) || added->shape().rank() > shape->size()) return false;
  Shape dims = added->shape();
  if (dims.rank() > 2 && dims.back() == added->num_elements()) dims = Shape{dims.back()};  // [1, 1, n]
  const auto attributes = ValidAttributes<MatMulNBitsAttributes>(node);
  const auto bias = attributes ? ColumnBias(added->Reshaped(dims), attributes->n) : std::nullopt;
  if (!bias || !BypassNode(graph, add.index, matmul)) return false;
  const ValueIndex constant = graph.AddConstant("", *bias);
  Node& summed = graph.node(index);
  if (summed.inputs.size() <= kBias) summed.inputs.resize(kBias + 1, kNone);
  graph.SetInput(index, kBias, constant);
  return true;
}

}  // namespace tessera
