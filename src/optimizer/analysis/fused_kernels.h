#pragma once

#include "optimizer/rewrite.h"

namespace tessera {

/// Whether the provider has a kernel for a node that need not be in the graph.
bool HasKernel(const Graph& graph, const Node& node, const ExecutionProvider& provider);

/// Position of the first provider with a kernel for the node, or their number.
size_t FirstWithKernel(const Graph& graph, const Node& node, const SessionResources& resources);

/// Whether an operator may stand in the graph: what is written as a model holds public ones alone, of domains that it
/// imports.
bool MayWrite(const Graph& graph, const Node& fused, const RewriteContext& context);

/// Whether `fused`, which is to stand for a group of nodes with `member` in it, may be made: the first provider that has a
/// kernel for the member has one for it too, and it may stand there. Where nodes are lowered: their provider has one.
bool MayFuse(const Graph& graph, const Node& member, const Node& fused, const RewriteContext& context);

}  // namespace tessera
