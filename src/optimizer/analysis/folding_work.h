#pragma once

#include "graph/graph.h"

namespace tessera {

/// Operations (multiply-adds for matmuls) to compute a node whose inputs are all constants, by
/// the sizes that its inputs and the inferred outputs have. Infinite where contents rather than sizes decide it (RoiAlign's
/// samples, decoders).
double EstimatedOperations(const Graph& graph, const Node& node);

}  // namespace tessera
