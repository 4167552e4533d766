#pragma once

// Which of several ways a node is computed, where timing has chosen one.

#include <string_view>

namespace tessera {

/// Values of NodeHints::algorithm that kernels know, beside the names of kernels/conv/choose. They take them as a
/// preference: what they cannot compute so they compute otherwise.
inline constexpr std::string_view kDirectAlgorithm = "direct", kWinogradAlgorithm = "winograd";
/// In trials: each provider that compiles subgraphs times what its library has for a node, and names the fastest.
inline constexpr std::string_view kTimedAlgorithm = "timed";

}  // namespace tessera
