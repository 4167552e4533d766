#pragma once

// What a node computes and how much, for profiles, where what a kernel reaches of its machine's peak is read off it, and
// for providers that weigh their claims.

#include <cstdint>
#include <span>

#include "tessera/provider/graph.h"
#include "tessera/shape.h"

namespace tessera {

enum class ProductKind : uint8_t { kNone, kConvolution, kTransposedConvolution, kMatMul, kRecurrence, kAttention };

/// Which sums of products the operator computes, of any domain and layout.
ProductKind ProductKindOf(const Node& node);

/// Floating-point operations (integer ones of quantized operators) by the operator's definition, a multiply-add as two,
/// whatever algorithm computes it: the usual count for matmuls, convolutions, recurrences and attention, one for each
/// result of other operators that compute; 0 where they only move elements, and where a shape that is needed is unknown.
/// `inputs`: by position, null where unknown or omitted; `outputs` the same.
double FlopsOf(const Node& node, std::span<const Shape* const> inputs, std::span<const Shape* const> outputs);

}  // namespace tessera
