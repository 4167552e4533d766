#pragma once

#include "graph/graph.h"

namespace tessera {

/// Puts a copy of a node into another graph, with the values that it reads and writes: their names, types and constants.
/// What its nested graphs capture stays behind. Returns the copy's index.
NodeIndex CopyNode(const Graph& from, const Node& node, Graph& to);

}  // namespace tessera
