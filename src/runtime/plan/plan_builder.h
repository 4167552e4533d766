#pragma once

#include "partition/partition.h"
#include "runtime/plan/plan.h"
#include "runtime/resources.h"

namespace tessera {

/// Flattens a partitioned graph: makes its kernels and nested runners, adds copies between memories. `holder`: the node
/// that holds a nested graph. Copies are written into `report`. Constants that every kernel keeps in a form of its own
/// leave the graph. With `failed`, what providers before the last one cannot make is added there, and the plan is of no
/// use; else it is an error.
std::unique_ptr<Plan> BuildPlan(Graph& graph, GraphPartition partition, const SessionResources& resources,
                                PlacementReport& report, FailedKernels* failed = nullptr, const Node* holder = nullptr,
                                const std::string& path = "");

}  // namespace tessera
