#include "partition/left_to_cpu.h"

#include <algorithm>

namespace tessera {
namespace {

class NoSink final : public RefusalSink {
 public:
  void Refuse(NodeIndex, std::string) override {}
};

}  // namespace

std::vector<bool> LeftToCpu(const Graph& graph, const SessionResources& resources) {
  const auto& providers = resources.providers;
  const bool host = std::all_of(providers.begin(), providers.end(),
                                [](const ProviderEntry& entry) { return entry.memory == SessionResources::kHost; });
  std::vector<bool> left(graph.num_node_slots(), host && providers.back().provider->name() == "CPUExecutionProvider");
  if (!host || providers.size() == 1) return left;
  const GraphViewer viewer(graph);
  NoSink sink;
  for (size_t i = 0; i + 1 < providers.size(); ++i) {
    const ExecutionProvider& provider = *providers[i].provider;
    const RegistryLookup lookup(provider.kernels(), viewer);
    for (const ComputeCapability& claim : provider.GetCapability(viewer, lookup, sink)) {
      for (const NodeIndex node : claim.nodes) left[static_cast<size_t>(node)] = false;
    }
  }
  return left;
}

}  // namespace tessera
