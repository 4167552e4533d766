#include "partition/partition.h"

#include "base/check.h"

namespace tessera {
namespace {

class RegistryLookup final : public KernelLookup {
 public:
  RegistryLookup(const KernelRegistry& registry, const GraphViewer& graph) : registry_(registry), graph_(graph) {}
  const KernelDef* Find(const Node& node, std::string* why) const override { return registry_.Find(graph_, node, why); }

 private:
  const KernelRegistry& registry_;
  const GraphViewer& graph_;
};

}  // namespace

GraphPartition PartitionGraph(Graph& graph, const SessionResources& resources, const PartitionOptions& options,
                              PlacementReport& report, const std::string& path) {
  GraphPartition partition;
  const GraphViewer viewer(graph);
  for (const NodeIndex index : graph.TopologicalOrder()) {
    Node& node = graph.node(index);
    for (const auto& [attribute, nested] : graph.Subgraphs(index)) {
      partition.nested.emplace(
          std::pair(index, std::string(attribute)),
          PartitionGraph(*nested, resources, options, report, path + node.Label(&viewer) + "." + std::string(attribute) + "/"));
    }
    Unit unit;
    unit.nodes = {index};
    std::string why;
    for (size_t i = 0; i < resources.providers.size(); ++i) {
      const ExecutionProvider& provider = *resources.providers[i].provider;
      const RegistryLookup lookup(provider.kernels(), viewer);
      unit.def = lookup.Find(node, &why);
      if (unit.def == nullptr) continue;
      unit.provider = static_cast<int16_t>(i);
      node.provider = provider.name();
      break;
    }
    if (unit.def == nullptr) Fail(ErrorCode::kNotImplemented, "{}: {}", node.Label(&viewer), why);
    partition.units.push_back(std::move(unit));
  }
  return partition;
}

}  // namespace tessera
