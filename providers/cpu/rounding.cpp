#include "rounding.h"

#include <algorithm>
#include <array>

#include "base/precision.h"
#include "simd/gemm_bf16.h"

namespace tessera::cpu {
namespace {

constexpr std::string_view kRecurrent[] = {"RNN", "GRU", "LSTM"}, kProducts[] = {"MatMul", "Gemm"};
constexpr std::array kReals = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16};

bool IsOneOf(const Node& node, std::span<const std::string_view> names) {
  return node.domain.empty() && std::find(names.begin(), names.end(), node.op_type) != names.end();
}

bool IsProduct(const Node& node) { return IsOneOf(node, kProducts) || (node.domain == "ai.tessera" && node.op_type == "Linear"); }

const Tensor* Constant(const GraphViewer& graph, const Node& node, size_t input) {
  const Tensor* constant = input < node.inputs.size() && node.inputs[input] != kNone ? graph.constant(node.inputs[input]) : nullptr;
  return constant != nullptr && constant->num_elements() > 0 ? constant : nullptr;
}

}  // namespace

bool MayRoundFactors(const ExecutionProvider& provider, const GraphViewer& graph, const Node& node) {
  const auto option = provider.options().find(kPrecisionOption);
  if (option == provider.options().end() || option->second != NameOf(Precision::kBFloat16)) return false;
  if (!IsProduct(node) && !IsOneOf(node, kRecurrent)) return false;
  return std::find(kReals.begin(), kReals.end(), graph.value(node.inputs[0]).type.element) != kReals.end();
}

bool RoundsFactors(const ExecutionProvider& provider, const GraphViewer& graph, const Node& node) {
  if (!MayRoundFactors(provider, graph, node) || !HasGemmBf16()) return false;
  const Tensor* weights = Constant(graph, node, 1);
  if (!IsProduct(node)) return weights != nullptr && Constant(graph, node, 2) != nullptr;
  const AttributeValue* turned = node.FindAttribute("transA");
  const bool by_rows = turned == nullptr || std::get<int64_t>(*turned) == 0;
  return weights != nullptr && weights->shape().rank() == 2 && by_rows;
}

}  // namespace tessera::cpu
