#pragma once

#include "optimizer/rewrite.h"

namespace tessera {

/// Whether the provider has a kernel for a node that need not be in the graph.
bool HasKernel(const Graph& graph, const Node& node, const ExecutionProvider& provider);

/// Whether a lowering pass may make `fused` of other nodes: the provider whose nodes are being lowered has a kernel for it.
/// Portable passes, which do not ask who will run a node, ask MayAdd (optimizer/analysis/added_nodes.h).
bool MayFuse(const Graph& graph, const Node& fused, const RewriteContext& context);

}  // namespace tessera
