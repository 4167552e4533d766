#pragma once

#include "graph/graph.h"

namespace tessera {

/// Infers types and shapes of all values, nested graphs included, as far as inputs and constants tell them; small integer
/// tensors that compute shapes are followed symbolically. What is known already is refined, never forgotten. Throws
/// Error(kInvalidGraph) naming the node where types do not fit; shapes that do not fit leave the shape unknown.
void InferTypes(Graph& graph);

/// The same for one node without nested graphs. Its errors leave naming the node to the caller.
void InferNodeTypes(Graph& graph, const Node& node);

/// Whether InferTypes made this name of a dimension up; models may have the same by chance.
bool IsInferredName(std::string_view symbol);

/// The types that an operator's schema allows: throws Error(kInvalidGraph) naming the input or output that breaks it.
void CheckTypes(const Graph& graph, const Node& node);
/// Those of all nodes, nested graphs included; names the node, too.
void CheckTypes(const Graph& graph);

/// Whether the kinds and element types of all that a node, or any node of a graph, reads and writes are known before it
/// runs.
bool TypesAreKnown(const Graph& graph, const Node& node) noexcept;
bool TypesAreKnown(const Graph& graph);

}  // namespace tessera
