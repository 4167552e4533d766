#include "cpu/rounding.h"

#include <algorithm>
#include <array>

#include "base/precision.h"
#include "graph/private_names.h"
#include "kernels/gemm/gemm_bf16.h"
#include "ops/math/gemm.h"

namespace tessera::cpu {
namespace {

constexpr std::string_view kRecurrent[] = {"RNN", "GRU", "LSTM"}, kMatMuls[] = {"MatMul", "Gemm"};
constexpr std::array kReals = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16};

bool IsOneOf(const Node& node, std::span<const std::string_view> names) {
  return node.domain.empty() && std::find(names.begin(), names.end(), node.op_type) != names.end();
}

bool IsMatMul(const Node& node) {
  return IsOneOf(node, kMatMuls) || (node.domain == kTesseraDomain && node.op_type == "Linear");
}

const Tensor* Constant(const GraphViewer& graph, const Node& node, size_t input) {
  const Tensor* constant =
      input < node.inputs.size() && node.inputs[input] != kNone ? graph.constant(node.inputs[input]) : nullptr;
  return constant != nullptr && constant->num_elements() > 0 ? constant : nullptr;
}

bool IsAttention(const Node& node) {
  if (node.domain.empty() || node.domain == kTesseraDomain) return node.op_type == "Attention";
  return node.domain == "com.microsoft" && (node.op_type == "MultiHeadAttention" || node.op_type == "GroupQueryAttention");
}

/// Of an input that is not there, too.
bool IsReal(const GraphViewer& graph, const Node& node, size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] == kNone) return true;
  return std::find(kReals.begin(), kReals.end(), graph.value(node.inputs[input]).type.element) != kReals.end();
}

/// Whether the shape tells that there are fewer queries than are worth rounding keys for.
bool HasFewQueries(const GraphViewer& graph, const Node& node) {
  const std::optional<SymbolicShape>& shape = graph.value(node.inputs[0]).type.shape;
  if (!shape || shape->size() < 3) return false;
  const Dimension& queries = (*shape)[node.domain != "com.microsoft" && shape->size() == 4 ? 2 : 1];
  return queries.known() && queries.value < kLeastRoundedQueries;
}

/// Both matrices of recurrent operators; of matmuls one, whose lhs is read by rows.
bool HasConstantWeights(const GraphViewer& graph, const Node& node) {
  const Tensor* weights = Constant(graph, node, 1);
  if (!IsMatMul(node)) return weights != nullptr && Constant(graph, node, 2) != nullptr;
  const bool by_rows = !GemmAttributes(node).trans_a;
  return weights != nullptr && weights->shape().rank() == 2 && by_rows;
}

/// Of constant weights.
bool NarrowWeightsPay(const GraphViewer& graph, const Node& node) {
  if (!Constant(graph, node, 1)->is(ElementType::kFloat)) return false;
  if (IsMatMul(node)) return true;
  const Tensor& recurrent = *Constant(graph, node, 2);
  return recurrent.shape().rank() == 3 && static_cast<int64_t>(recurrent.byte_size()) > recurrent.shape()[0] * kNearWeights;
}

std::string_view OptionOf(const ExecutionProvider& provider) {
  const auto option = provider.options().find(kPrecisionOption);
  return option == provider.options().end() ? std::string_view() : option->second;
}

}  // namespace

bool MayRound(const ExecutionProvider& provider, const GraphViewer& graph, const Node& node) {
  const std::string_view option = OptionOf(provider);
  if (option != NameOf(Precision::kBFloat16) && option != NameOf(Precision::kBFloat16Weights)) return false;
  if (IsAttention(node)) return option == NameOf(Precision::kBFloat16) && IsReal(graph, node, 0) && IsReal(graph, node, 2);
  return (IsMatMul(node) || IsOneOf(node, kRecurrent)) && IsReal(graph, node, 0);
}

Rounding RoundingOf(const ExecutionProvider& provider, const GraphViewer& graph, const Node& node) {
  if (!MayRound(provider, graph, node)) return Rounding::kNone;
  const bool operands = OptionOf(provider) == NameOf(Precision::kBFloat16) && GemmBf16Pays();
  if (IsAttention(node)) return operands && !HasFewQueries(graph, node) ? Rounding::kOperands : Rounding::kNone;
  if (!HasConstantWeights(graph, node)) return Rounding::kNone;
  if (operands) return Rounding::kOperands;
  return NarrowWeightsPay(graph, node) ? Rounding::kWeights : Rounding::kNone;
}

}  // namespace tessera::cpu
