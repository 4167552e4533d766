#pragma once

// Decides which provider runs which node.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/precision.h"
#include "graph/graph.h"
#include "partition/failed_kernels.h"
#include "runtime/resources.h"
#include "tessera/session.h"

namespace tessera {

/// What one kernel runs: a node, or the nodes of a fused subgraph.
struct Unit {
  int16_t provider = -1;
  std::vector<NodeIndex> nodes;    // in topological order
  const KernelDef* def = nullptr;  // of a single node
  std::unique_ptr<Node> fused;     // stands for the nodes of a fused subgraph
  std::unique_ptr<Kernel> kernel;  // compiled, for fused subgraphs
};

struct GraphPartition {
  std::vector<Unit> units;  // in execution order
  std::map<std::pair<NodeIndex, std::string>, GraphPartition> nested;
};

struct PartitionOptions {
  /// A node that only CPU takes is an error, unless CPU was asked for by name.
  bool disable_cpu_fallback = false;
  /// Islands of fewer nodes on a device go back to the host where every neighbour is; 0: never.
  int64_t min_island_nodes = 3;
  /// What the session allows products to be computed in; the report says which are.
  Precision precision = Precision::kFloat32;
  /// A subgraph that does not compile is an error instead of going to the next provider.
  bool error_on_failure = false;
  /// What providers failed at before, and are not asked for again; null: nothing.
  const FailedKernels* failed = nullptr;
};

/// Asks the providers in order and fills `report`. Sets Node::provider. Throws Error for nodes that nobody takes.
GraphPartition PartitionGraph(Graph& graph, const SessionResources& resources, const PartitionOptions& options,
                              PlacementReport& report, const Logger& log, const std::string& path = "");

}  // namespace tessera
