#include "lowering/fused_kernels.h"

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

bool MayFuse(const Graph& graph, const Node& fused, const RewriteContext& context) {
  return HasKernel(graph, fused, *context.lowered_for);
}

}  // namespace tessera
