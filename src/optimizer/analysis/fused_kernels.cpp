#include "optimizer/analysis/fused_kernels.h"

#include "graph/private_names.h"

namespace tessera {

bool HasKernel(const Graph& graph, const Node& node, const ExecutionProvider& provider) {
  Graph alone;  // a viewer of the whole graph would sort it
  Node probe = node;
  for (auto* list : {&probe.inputs, &probe.outputs}) {
    for (ValueIndex& index : *list) {
      if (index != kNone) index = alone.AddValue("", graph.value(index).type);
    }
  }
  return provider.kernels().Find(GraphViewer(alone), probe) != nullptr;
}

bool MayWrite(const Graph& graph, const Node& fused, const RewriteContext& context) {
  return !context.writable || (!IsPrivateDomain(fused.domain) && graph.opset_version(fused.domain) >= fused.since_version);
}

bool MayFuse(const Graph& graph, const Node& fused, const RewriteContext& context) {
  if (context.lowered_for != nullptr) return HasKernel(graph, fused, *context.lowered_for);
  return MayWrite(graph, fused, context) && HasKernel(graph, fused, *context.resources.providers.back().provider);
}

}  // namespace tessera
