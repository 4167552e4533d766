#pragma once

// Which operators round the factors of their products to bfloat16, where the provider's option "precision" lets them.

#include "tessera/execution_provider.h"

namespace tessera::cpu {

/// The provider's option.
inline constexpr std::string_view kPrecisionOption = "precision";

/// Fewer queries of attention do not pay for the rounding of keys and values.
inline constexpr int64_t kLeastRoundedQueries = 8;

/// Whether the option lets a node round: matrix products, attention, RNN, GRU and LSTM, unless they compute in double or of integers.
bool MayRoundFactors(const ExecutionProvider& provider, const GraphViewer& graph, const Node& node);

/// Whether it does: weights are constants (of products one matrix), attention is not known to be of few queries, and the processor
/// has the instructions.
bool RoundsFactors(const ExecutionProvider& provider, const GraphViewer& graph, const Node& node);

}  // namespace tessera::cpu
