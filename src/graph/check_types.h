#pragma once

// The types of what nodes read and write, and what their operators' schemas say of them.

#include "graph/graph.h"

namespace tessera {

/// The types that an operator's schema allows: throws Error(kInvalidGraph) naming the input or output that breaks it.
void CheckTypes(const Graph& graph, const Node& node);
/// Those of all nodes, nested graphs included; names the node, too.
void CheckTypes(const Graph& graph);

/// Whether there is a schema of a node's operator and version, which allows the types of all that it reads and writes; each
/// of them is known. The node need not be in the graph.
bool SchemaAllows(const Graph& graph, const Node& node);

/// Whether the kinds and element types of all that a node, or any node of a graph, reads and writes are known before it
/// runs.
bool TypesAreKnown(const Graph& graph, const Node& node) noexcept;
bool TypesAreKnown(const Graph& graph);

}  // namespace tessera
