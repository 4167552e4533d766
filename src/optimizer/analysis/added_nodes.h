#pragma once

// Which nodes portable passes may write: a question about models and the standard, not about who will run them.

#include "optimizer/rewrite.h"

namespace tessera {

/// Whether an operator may stand in the graph: what is written as a model holds public ones alone, of domains and versions
/// that it imports.
bool MayWrite(const Graph& graph, const Node& node, const RewriteContext& context);

/// Whether a portable pass may add `node`, which need not be in the graph: MayWrite, and the schema of its operator and
/// version allows the types of all that it reads and writes, which are known.
bool MayAdd(const Graph& graph, const Node& node, const RewriteContext& context);

}  // namespace tessera
