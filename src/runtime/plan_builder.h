#pragma once

#include "partition/partition.h"
#include "runtime/plan.h"
#include "runtime/resources.h"

namespace tessera {

/// Flattens a partitioned graph: makes its kernels and nested runners, adds copies between memories. `holder`: the node that
/// holds a nested graph. Copies are written into `report`. Constants that every kernel keeps in a form of its own leave the
/// graph.
std::unique_ptr<Plan> BuildPlan(Graph& graph, GraphPartition partition, const SessionResources& resources,
                                PlacementReport& report, const Node* holder = nullptr, const std::string& path = "");

}  // namespace tessera
