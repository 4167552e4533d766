#pragma once

// Which operators round the factors of their products to bfloat16, where the provider's option "precision" lets them.

#include "tessera/execution_provider.h"

namespace tessera::cpu {

/// The provider's option.
inline constexpr std::string_view kPrecisionOption = "precision";

/// Whether the option lets a node round: matrix products, RNN, GRU and LSTM, unless they compute in double or of integers.
bool MayRoundFactors(const ExecutionProvider& provider, const GraphViewer& graph, const Node& node);

/// Whether it does: weights are constants (of products one matrix), and the processor has the instructions.
bool RoundsFactors(const ExecutionProvider& provider, const GraphViewer& graph, const Node& node);

}  // namespace tessera::cpu
