#pragma once

#include "optimizer/rewrite.h"

namespace tessera {

/// Whether the provider has a kernel for a node that need not be in the graph.
bool HasKernel(const Graph& graph, const Node& node, const ExecutionProvider& provider);

/// Whether an operator may stand in the graph: what is written as a model holds public ones alone, of domains that it
/// imports.
bool MayWrite(const Graph& graph, const Node& fused, const RewriteContext& context);

/// Whether `fused` may be made of other nodes: the provider whose nodes are being lowered has a kernel for it; where
/// rewrites are portable the last provider, to which everything falls that others refuse, and it may be written.
bool MayFuse(const Graph& graph, const Node& fused, const RewriteContext& context);

}  // namespace tessera
