#pragma once

// What a node computes and how much, for profiles, where what a kernel reaches of its machine's peak is read off it, and
// for providers that weigh their claims.

#include <cstdint>
#include <span>

#include "tessera/provider/graph.h"
#include "tessera/shape.h"

namespace tessera {

enum class ConvolutionKind : uint8_t { kNone, kDirect, kTransposed };

/// Which convolution the operator computes, of any domain and layout.
ConvolutionKind ConvolutionKindOf(const Node& node) noexcept;

/// Floating-point operations (integer ones of quantized operators) by the operator's definition, a multiply-add as two,
/// whatever algorithm computes it: the usual count for matmuls, convolutions, recurrences and attention, one for each
/// result of elementwise operators, one for each element that is reduced; 0 for other operators, and where a shape that is
/// needed is unknown.
/// `inputs`: by position, null where unknown or omitted; `outputs` the same.
double FlopsOf(const Node& node, std::span<const Shape* const> inputs, std::span<const Shape* const> outputs);

}  // namespace tessera
