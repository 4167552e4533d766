#include "lowering/lower_graph.h"

#include <algorithm>

#include "tessera/provider/execution_provider.h"

namespace tessera {
namespace {

/// Nodes that came into being while a provider's were lowered are its own: all that were there before had been assigned.
void GiveNewNodes(Graph& graph, std::string_view provider) {
  for (const NodeIndex index : graph.TopologicalOrder()) {
    Node& node = graph.node(index);
    if (node.provider.empty()) node.provider = provider;
    for (const auto& [name, nested] : graph.Subgraphs(index)) GiveNewNodes(*nested, provider);
  }
}

size_t Changes(const OptimizationReport& report) {
  size_t changes = 0;
  for (const OptimizationReport::Pass& pass : report.passes) changes += pass.changes;
  return changes;
}

}  // namespace

void LowerGraph(Graph& graph, const SessionResources& resources, const OptimizerOptions& options,
                OptimizationReport& report) {
  for (const ProviderEntry& entry : resources.providers) {
    const ProviderFactory* factory = FindProvider(entry.provider->name());
    if (factory == nullptr || factory->lowering == nullptr) continue;
    OptimizerOptions lowering = options;
    lowering.lowered_for = entry.provider.get();
    std::vector<RewriteEntry> early = RewritesOf(factory->lowering(), options.level);
    const auto rest = std::ranges::stable_partition(early, [](const RewriteEntry& one) { return !one.last; });
    const std::vector<RewriteEntry> last(rest.begin(), rest.end());
    early.erase(rest.begin(), rest.end());
    for (size_t round = 0; round < kMostRounds; ++round) {
      const OptimizationReport done = RunRewrites(graph, resources, early, lowering);
      Append(report, done);
      if (Changes(done) == 0) break;
      Append(report, OptimizeGraph(graph, resources, options));
    }
    Append(report, RunRewrites(graph, resources, last, lowering));
    if (&entry != &resources.providers.back()) GiveNewNodes(graph, entry.provider->name());
  }
}

}  // namespace tessera
