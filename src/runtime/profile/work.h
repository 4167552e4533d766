#pragma once

// How much a node computes, for profiles: what a kernel reaches of its machine's peak is read off it.

#include <span>

#include "tessera/provider/graph.h"
#include "tessera/shape.h"

namespace tessera {

/// Floating-point operations (integer ones of quantized operators) by the operator's definition, a multiply-add as two,
/// whatever algorithm computes it: the usual count for matmuls, convolutions, recurrences and attention, one for each
/// result of elementwise operators, one for each element that is reduced; 0 for other operators, and where a shape that is
/// needed is unknown.
/// `inputs`: by position, null where unknown or omitted; `outputs` the same.
double FlopsOf(const Node& node, std::span<const Shape* const> inputs, std::span<const Shape* const> outputs);

}  // namespace tessera
