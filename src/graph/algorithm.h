#pragma once

// Which of several ways a node is computed, where timing has chosen one.

#include <string_view>

#include "tessera/provider/graph.h"

namespace tessera {

/// Values of NodeHints::algorithm that kernels know.
inline constexpr std::string_view kDirectAlgorithm = "direct", kWinogradAlgorithm = "winograd";
/// In trials: each provider that compiles subgraphs times what its library has for a node, and names the fastest.
inline constexpr std::string_view kTimedAlgorithm = "timed";

enum class Algorithm : uint8_t { kAny, kDirect, kWinograd };

/// What the node's hint says. Kernels take it as a preference: what they cannot compute so they compute otherwise.
inline Algorithm ChosenAlgorithm(const Node& node) {
  const std::string& name = node.hints.algorithm;
  return name == kDirectAlgorithm     ? Algorithm::kDirect
         : name == kWinogradAlgorithm ? Algorithm::kWinograd
                                      : Algorithm::kAny;
}

}  // namespace tessera
