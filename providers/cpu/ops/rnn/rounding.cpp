#include "ops/rnn/rounding.h"

#include "base/precision.h"
#include "simd/gemm_bf16.h"

namespace tessera::cpu {
namespace {

bool IsConstant(const GraphViewer& graph, const Node& node, size_t input) {
  const Tensor* constant = input < node.inputs.size() && node.inputs[input] != kNone ? graph.constant(node.inputs[input]) : nullptr;
  return constant != nullptr && constant->num_elements() > 0;
}

}  // namespace

bool MayRoundFactors(const ExecutionProvider& provider, const GraphViewer& graph, const Node& node) {
  const auto option = provider.options().find(kPrecisionOption);
  if (option == provider.options().end() || option->second != NameOf(Precision::kBFloat16)) return false;
  if (!node.domain.empty() || (node.op_type != "RNN" && node.op_type != "GRU" && node.op_type != "LSTM")) return false;
  return graph.value(node.inputs[0]).type.element != ElementType::kDouble;
}

bool RoundsFactors(const ExecutionProvider& provider, const GraphViewer& graph, const Node& node) {
  return MayRoundFactors(provider, graph, node) && HasGemmBf16() && IsConstant(graph, node, 1) && IsConstant(graph, node, 2);
}

}  // namespace tessera::cpu
