#pragma once

#include <cstddef>
#include <optional>

#include "graph/graph.h"

namespace tessera {

/// The input that a binary operator passes through bit by bit because the other is a constant that changes nothing (x * 1,
/// x - 0, x and true), and has no larger shape. x + 0 only where it is exact: not for floats, whose -0 it makes 0.
std::optional<size_t> InputBesideNeutralElement(const Graph& graph, const Node& node);

}  // namespace tessera
