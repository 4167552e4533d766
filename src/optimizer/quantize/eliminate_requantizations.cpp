// eliminate_requantizations: a DequantizeLinear and a QuantizeLinear of the same scale and zero point vanish, also around a
// Relu or Clip that the quantized values' range implies.

#include <cmath>

#include "optimizer/analysis/bounds.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/quantization.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

class RequantizationElimination final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& /*context*/) override {
    const auto to = QuantizationOf(graph, graph.node(index));
    if (!to) return false;
    ValueIndex numbers = to->numbers;
    const Node* before = Producer(graph, numbers);
    const auto bounds = before == nullptr ? std::nullopt : BoundsOf(graph, *before);
    if (bounds && IsImplied(*bounds, *to)) numbers = before->inputs[0];
    const auto from = PlainDequantizationOf(graph, numbers);
    if (!from || !SameQuantization(*from, *to)) return false;
    // Rounding to floats is then far less than half a step; what overflows would not come back.
    return std::isfinite(256 * to->Scale()) && BypassNode(graph, index, from->quantized);
  }
};

}  // namespace

std::unique_ptr<Rewrite> EliminateRequantizations() { return std::make_unique<RequantizationElimination>(); }

}  // namespace tessera
