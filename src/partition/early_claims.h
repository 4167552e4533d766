#pragma once

// What providers claim of the model as its author wrote it, before portable passes change it. Each such part is drawn out
// of the graph: one opaque node stands for it there, which no pass knows, and the nodes are in a graph of their own.

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "graph/graph.h"
#include "partition/partition.h"
#include "runtime/resources.h"

namespace tessera {

/// Such a part. Inputs and outputs of its graph are those of the opaque node, in order.
struct EarlyPart {
  int16_t provider = -1;
  std::string name;
  std::unique_ptr<Graph> graph;
  std::shared_ptr<Kernel> kernel;  // null where it did not compile: its nodes are in their old graph again
  int64_t tag = 0;                 // of the claim
  ContextNode context;             // where such nodes were asked for
};

struct EarlyParts {
  std::vector<EarlyPart> parts;
  /// Why the model's nodes are in none, by their place in it (NodeOrigin::index).
  std::unordered_map<int32_t, PlacementReport::Refusals> refusals;
};

/// Asks the providers that claim the model as written, in order, outer graphs before those nested in what is left of them,
/// and compiles all parts of a provider at once, or one by one where that fails. What does not compile stays as it was;
/// with PartitionOptions::error_on_failure that is an error. `context_nodes`: parts have a node for a model that is
/// written.
EarlyParts DrawEarlyClaims(Graph& graph, const SessionResources& resources, const PartitionOptions& options,
                           bool context_nodes, const Logger& log);

/// The part that a node stands for, or null.
const EarlyPart* FindEarlyPart(std::span<const EarlyPart> parts, const Node& node) noexcept;

/// The report's nodes of the model have these refusals before their own.
void AddRefusals(const EarlyParts& early, PlacementReport& report);

/// A kernel for a plan: parts keep theirs, as a plan may be made several times.
std::unique_ptr<Kernel> KernelOf(const EarlyPart& part);

}  // namespace tessera
