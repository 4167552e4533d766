#pragma once

#include "graph/graph.h"

namespace tessera {

/// Operations, multiplications with additions for products, that computing a node takes whose inputs are all constants, by
/// the sizes that its inputs and the inferred outputs have. Infinite where contents rather than sizes decide it (RoiAlign's
/// samples, decoders).
double EstimatedOperations(const Graph& graph, const Node& node);

}  // namespace tessera
