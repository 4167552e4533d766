#pragma once

// Decides which provider runs which node.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/resources.h"
#include "tessera/session.h"

namespace tessera {

/// What one kernel runs: a node, or the nodes of a fused subgraph.
struct Unit {
  int16_t provider = -1;
  std::vector<NodeIndex> nodes;      // in topological order
  const KernelDef* def = nullptr;    // of a single node
  std::unique_ptr<Node> fused;       // stands for the nodes of a fused subgraph
  std::unique_ptr<Kernel> kernel;    // compiled, for fused subgraphs
};

struct GraphPartition {
  std::vector<Unit> units;  // in execution order
  std::map<std::pair<NodeIndex, std::string>, GraphPartition> nested;
};

struct PartitionOptions {
  bool disable_cpu_fallback = false;
  /// Device islands of fewer nodes go back to the host where their copies cost more than they win; 0: never.
  int64_t min_island_nodes = 0;
};

/// Asks the providers in order and fills `report`. Sets Node::provider. Throws Error for nodes that nobody takes.
GraphPartition PartitionGraph(Graph& graph, const SessionResources& resources, const PartitionOptions& options,
                              PlacementReport& report, const std::string& path = "");

}  // namespace tessera
