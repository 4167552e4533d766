#pragma once

// Which recurrent operators round the factors of their products to bfloat16, where the provider's option "precision" lets them.

#include "tessera/execution_provider.h"

namespace tessera::cpu {

/// The provider's option.
inline constexpr std::string_view kPrecisionOption = "precision";

/// Whether the option lets a node round: RNN, GRU and LSTM, unless they compute in double.
bool MayRoundFactors(const ExecutionProvider& provider, const GraphViewer& graph, const Node& node);

/// Whether it does: weights are constants, and the processor has the instructions.
bool RoundsFactors(const ExecutionProvider& provider, const GraphViewer& graph, const Node& node);

}  // namespace tessera::cpu
