#pragma once

// What a session's other providers leave to the CPU provider, before the graph is partitioned.

#include <vector>

#include "graph/graph.h"
#include "runtime/resources.h"

namespace tessera {

/// Answers from one provider's own registry.
class RegistryLookup final : public KernelLookup {
 public:
  RegistryLookup(const KernelRegistry& registry, const GraphViewer& graph) : registry_(registry), graph_(graph) {}
  const KernelDef* Find(const Node& node, std::string* why) const override { return registry_.Find(graph_, node, why); }

 private:
  const KernelRegistry& registry_;
  const GraphViewer& graph_;
};

/// By node index: whether no provider before the last one, CPU, offers to run the node as the graph stands. None where
/// another provider keeps values in a memory of its own: what would be on the host then depends on the copies, too.
std::vector<bool> LeftToCpu(const Graph& graph, const SessionResources& resources);

}  // namespace tessera
