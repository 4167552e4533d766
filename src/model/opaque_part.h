#pragma once

// What opaque nodes of a graph stand for in a model that is written.

#include <functional>
#include <optional>

#include "graph/graph.h"
#include "tessera/provider/execution_provider.h"

namespace tessera {

/// Inputs and outputs of the graph are those of the opaque node, in order.
struct OpaquePart {
  const ContextNode* node = nullptr;  // is written for it; without an op_type the graph's own nodes are
  const Graph* graph = nullptr;
};

/// Nothing for nodes that are not opaque.
using FindOpaquePart = std::function<std::optional<OpaquePart>(const Node&)>;

}  // namespace tessera
