#include "tessera/provider/execution_provider.h"

#include "base/check.h"

namespace tessera {

std::vector<ComputeCapability> ExecutionProvider::GetCapability(const GraphViewer& graph, const KernelLookup& kernels,
                                                                RefusalSink& refusals) const {
  std::vector<ComputeCapability> claims;
  for (const NodeIndex index : graph.nodes()) {
    const Node& node = graph.node(index);
    if (!node.provider.empty()) continue;
    std::string why;
    if (kernels.Find(node, &why) != nullptr) {
      claims.push_back({.nodes = {index}});
    } else {
      refusals.Refuse(index, std::move(why));
    }
  }
  return claims;
}

std::vector<std::unique_ptr<Kernel>> ExecutionProvider::Compile(std::span<const FusedSubgraph> subgraphs,
                                                                const CompileContext& /*context*/) {
  Fail(ErrorCode::kNotImplemented, "{} does not compile subgraphs ({} given)", name(), subgraphs.size());
}

}  // namespace tessera
