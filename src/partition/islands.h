#pragma once

#include <span>

#include "graph/graph.h"
#include "partition/unit_graph.h"
#include "tessera/provider/function_ref.h"

namespace tessera {

/// Visits the islands of a provider: nodes of its own that touch each other, with others' around them, and none among them
/// that is worth a trip to a device by itself. `mine`: whether a node is the provider's, asked anew after each visit.
void ForEachIsland(const Graph& graph, const UnitGraph& edges, FunctionRef<bool(NodeIndex)> mine,
                   FunctionRef<void(std::span<const NodeIndex>)> visit);

}  // namespace tessera
