#pragma once

// What operators round of their matmuls' operands to bfloat16, where the provider's option "precision" lets them.

#include <cstdint>

#include "tessera/provider/execution_provider.h"

namespace tessera::cpu {

/// The provider's option.
inline constexpr std::string_view kPrecisionOption = "precision";

/// Fewer queries of attention do not pay for the rounding of keys and values.
inline constexpr int64_t kLeastRoundedQueries = 8;

/// Bytes of one direction's recurrent weights, in float32, that a core's cache keeps from step to step: narrower ones gain
/// nothing.
inline constexpr int64_t kNearWeights = int64_t{512} << 10;

enum class Rounding : uint8_t {
  kNone,
  kWeights,   // which are stored so and widened to float32 again: matmuls of few rows wait for half the memory
  kOperands,  // both operands, multiplied in bfloat16
};

/// Whether the option lets a node round: matmuls, attention, RNN, GRU and LSTM, unless they compute in double or of
/// integers.
bool MayRound(const ExecutionProvider& provider, const GraphViewer& graph, const Node& node);

/// What it rounds: both operands where the option allows it, the processor multiplies bfloat16 faster than float32, and
/// weights are constants (of matmuls one matrix), or attention is not known to be of few queries; else constant weights of
/// float32, of recurrent operators those that are not near.
Rounding RoundingOf(const ExecutionProvider& provider, const GraphViewer& graph, const Node& node);
inline bool RoundsOperands(const ExecutionProvider& provider, const GraphViewer& graph, const Node& node) {
  return RoundingOf(provider, graph, node) == Rounding::kOperands;
}

}  // namespace tessera::cpu
