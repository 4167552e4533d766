#pragma once

// Decides which provider runs which node.

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "base/precision.h"
#include "graph/graph.h"
#include "partition/failed_kernels.h"
#include "runtime/resources.h"
#include "tessera/session.h"

namespace tessera {

struct EarlyPart;
struct EarlyParts;

/// What one kernel runs: a node, or the nodes of a fused subgraph.
struct Unit {
  int16_t provider = -1;
  std::vector<NodeIndex> nodes;      // in topological order
  const KernelDef* def = nullptr;    // of a single node, or of the kernel's operands
  std::unique_ptr<Node> fused;       // stands for the nodes of a fused subgraph
  std::unique_ptr<Kernel> kernel;    // compiled, for fused subgraphs
  const EarlyPart* early = nullptr;  // what the node stands for, where it is opaque
  int64_t tag = 0;                   // of the claim
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
  /// What the session allows matmuls to be computed in; the report says which are.
  Precision precision = Precision::kFloat32;
  /// A subgraph that does not compile is an error instead of going to the next provider.
  bool error_on_failure = false;
  /// What providers failed at before, and are not asked for again; what does not compile is added. Null: nothing.
  FailedKernels* failed = nullptr;
  /// For what providers compile.
  CompileContext compile;
  /// What opaque nodes of the graph stand for; null: there are none.
  const EarlyParts* early = nullptr;
};

/// Why providers did not take the nodes of a graph, by node.
using Refusals = std::vector<PlacementReport::Refusals>;

/// Which provider each node of a graph, and of those nested in it, was given before the providers rewrote theirs. Nodes
/// that came into being since are whose Node::provider says, or the last provider's.
struct Assignment {
  struct OfGraph {
    std::vector<int16_t> providers;  // by node
    Refusals refusals;
    /// By the model's node that it stood for: what stands for that now was refused for the same reasons.
    std::unordered_map<int32_t, NodeIndex> of_origin;
  };
  std::map<const Graph*, OfGraph> graphs;
};

/// What providers that claim the model as written claim of one graph, not of those nested in it: sets of nodes that can
/// each be drawn together, not compiled yet. `refusals` receives why others were not claimed, by node.
std::vector<Unit> ClaimAsWritten(Graph& graph, const SessionResources& resources, const PartitionOptions& options,
                                 const Logger& log, const std::string& path, Refusals& refusals);

/// ExecutionProvider::Compile; throws Error where it does not give a kernel for each subgraph.
std::vector<std::unique_ptr<Kernel>> CompileSubgraphs(ExecutionProvider& provider, std::span<const FusedSubgraph> subgraphs,
                                                      const CompileContext& context);

/// Asks the providers in order, compiles nothing, and sets Node::provider. Throws Error for nodes that nobody takes.
Assignment AssignProviders(Graph& graph, const SessionResources& resources, const PartitionOptions& options,
                           const Logger& log);

/// The same, compiles what providers claim as a whole, and fills `report`. With an assignment, providers get what they were
/// given there. Sets Node::provider. What does not compile is added to the options' failures, and the partition is of no
/// use then, or goes to the next provider, where they have none.
GraphPartition PartitionGraph(Graph& graph, const SessionResources& resources, const PartitionOptions& options,
                              PlacementReport& report, const Logger& log, const Assignment* assignment = nullptr,
                              const std::string& path = "");

}  // namespace tessera
