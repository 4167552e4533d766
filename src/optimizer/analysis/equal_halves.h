#pragma once

#include "graph/graph.h"

namespace tessera {

/// Whether the second half of each row (the last dimension) is known to hold the same numbers as the first: exporters
/// compute the angles of rotary embeddings so.
bool HasEqualHalves(const Graph& graph, ValueIndex value);

/// Whether the elements of each row are pairs of equal numbers, as where adjacent pairs are rotated.
bool HasEqualPairs(const Graph& graph, ValueIndex value);

}  // namespace tessera
