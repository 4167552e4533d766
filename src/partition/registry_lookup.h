#pragma once

#include "graph/graph.h"
#include "tessera/provider/execution_provider.h"

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

}  // namespace tessera
