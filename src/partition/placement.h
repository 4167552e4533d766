#pragma once

// Which nodes run where, for the session's report.

#include <span>
#include <string>

#include "partition/partition.h"

namespace tessera {

/// A graph that was partitioned, and how.
struct PartitionedGraph {
  const Graph& graph;
  const GraphViewer& viewer;
  const std::string& path;
  const Refusals& refusals;  // by node
  Precision precision;       // that the session allows
  const SessionResources& resources;
};

/// Adds the nodes of a graph's units, in their order.
void ReportUnits(const PartitionedGraph& of, std::span<const Unit> units, PlacementReport& report);

}  // namespace tessera
