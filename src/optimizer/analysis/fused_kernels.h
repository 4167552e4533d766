#pragma once

#include "optimizer/rewrite.h"

namespace tessera {

/// Whether the provider has a kernel for a node that need not be in the graph.
bool HasKernel(const Graph& graph, const Node& node, const ExecutionProvider& provider);

/// Whether lowering may make `fused` of other nodes: the provider whose nodes are being lowered has a kernel for it. For
/// portable passes, which do not ask who will run a node, there is MayAdd (optimizer/analysis/added_nodes.h). Two of them
/// that make operators of ai.tessera still ask here: the last provider has a kernel, and the node may be written.
bool MayFuse(const Graph& graph, const Node& fused, const RewriteContext& context);

}  // namespace tessera
