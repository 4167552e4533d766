#include "optimizer/analysis/bounds.h"

#include <cmath>

#include "ops/activation/clip.h"
#include "optimizer/analysis/edit.h"

namespace tessera {
namespace {

std::optional<double> BoundAt(const Graph& graph, const Node& node, size_t input, double absent) {
  if (!HasInput(node, input)) return absent;
  const Tensor* constant = ConstantInput(graph, node, input);
  if (constant == nullptr || !constant->is(ElementType::kFloat) || constant->num_elements() != 1) return std::nullopt;
  return std::isnan(*constant->data<float>()) ? std::nullopt : std::optional<double>(*constant->data<float>());
}

}  // namespace

std::optional<Bounds> BoundsOf(const Graph& graph, const Node& node) {
  if (!HasInput(node, 0) || ElementOf(graph, node.inputs[0]) != ElementType::kFloat) return std::nullopt;
  Bounds bounds;
  if (IsOp(node, "Relu")) {
    bounds.low = 0;
    return bounds;
  }
  if (!IsOp(node, "Clip")) return std::nullopt;
  const ClipAttributes attributes(node);
  if (attributes.from_attributes) {
    if (attributes.low) bounds.low = *attributes.low;
    if (attributes.high) bounds.high = *attributes.high;
  } else {
    const auto low = BoundAt(graph, node, 1, bounds.low), high = BoundAt(graph, node, 2, bounds.high);
    if (!low || !high) return std::nullopt;
    bounds = {*low, *high};
  }
  return bounds.low <= bounds.high ? std::optional(bounds) : std::nullopt;
}

}  // namespace tessera
