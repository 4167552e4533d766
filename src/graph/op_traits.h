#pragma once

// What is true of an operator whoever computes it, a row each: passes and providers ask here rather than keep lists.

#include <cstdint>

#include "tessera/provider/graph.h"

namespace tessera {

class Graph;

enum class OpTrait : uint16_t {
  kUnary = 1 << 0,         // each result comes from the element of the first input at its place, and from parameters
  kReal = 1 << 1,          // of real numbers to real numbers, beside kUnary or kBroadcasts
  kFiniteAtZero = 1 << 2,  // gives finite numbers for zeros, whatever its parameters
  kBroadcasts = 1 << 3,    // all inputs broadcast as numpy's do, from some version on
  kMoves = 1 << 4,         // results are elements of the first input, at other indices
  kReduces = 1 << 5,       // along axes
  kMatMul = 1 << 6,        // sums of products: matmuls, convolutions, recurrences, attention
  kRandom = 1 << 7,        // may give something else each time
  kContinuous = 1 << 8,    // a rounding less of its operands changes its results by no more than it is worth
};

class OpTraits {
 public:
  constexpr OpTraits() = default;
  constexpr OpTraits(OpTrait trait) : bits_(static_cast<uint16_t>(trait)) {}  // NOLINT: a trait is a set of one
  constexpr OpTraits operator|(OpTraits other) const { return OpTraits(static_cast<uint16_t>(bits_ | other.bits_)); }
  constexpr bool Has(OpTrait trait) const { return (bits_ & static_cast<uint16_t>(trait)) != 0; }
  /// Each result comes from the operands' elements at its place.
  constexpr bool IsElementwise() const { return Has(OpTrait::kUnary) || Has(OpTrait::kBroadcasts); }

 private:
  constexpr explicit OpTraits(uint16_t bits) : bits_(bits) {}
  uint16_t bits_ = 0;
};

constexpr OpTraits operator|(OpTrait a, OpTrait b) { return OpTraits(a) | OpTraits(b); }

/// Of an operator of ai.onnx, com.microsoft or ai.tessera at the node's version; none of an operator without a row, or of
/// another domain.
OpTraits TraitsOf(const Node& node);

/// The same; none of an operator that a provider of the session defines, in place of com.microsoft's, to mean something
/// else.
OpTraits TraitsOf(const Graph& graph, const Node& node);

inline bool Has(const Node& node, OpTrait trait) { return TraitsOf(node).Has(trait); }

}  // namespace tessera
