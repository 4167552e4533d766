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

size_t FirstWithKernel(const Graph& graph, const Node& node, const SessionResources& resources) {
  size_t i = 0;
  while (i < resources.providers.size() && !HasKernel(graph, node, *resources.providers[i].provider)) ++i;
  return i;
}

bool MayWrite(const Graph& graph, const Node& fused, const RewriteContext& context) {
  return !context.writable || (!IsPrivateDomain(fused.domain) && graph.opset_version(fused.domain) >= fused.since_version);
}

bool MayFuse(const Graph& graph, const Node& member, const Node& fused, const RewriteContext& context) {
  if (context.lowered_for != nullptr) return HasKernel(graph, fused, *context.lowered_for);
  if (!MayWrite(graph, fused, context)) return false;
  const size_t first = FirstWithKernel(graph, fused, context.resources);
  return first < context.resources.providers.size() && first <= FirstWithKernel(graph, member, context.resources);
}

}  // namespace tessera
