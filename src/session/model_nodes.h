#pragma once

// What reports and profiles say of the model's own nodes.

#include "graph/graph.h"
#include "partition/partition.h"
#include "runtime/profile/profiler.h"
#include "tessera/session.h"

namespace tessera {

/// Fills `report.model_nodes`, and says in `report.nodes` which of them each node computes. `assignment`: who refused which
/// of them before any was lowered; null: nobody was asked.
void ReportModelNodes(const Graph& graph, const Assignment* assignment, PlacementReport& report);

/// The same for a profile.
ModelNodeNames NamesForProfile(const PlacementReport& report);

}  // namespace tessera
