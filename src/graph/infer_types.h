#pragma once

#include "graph/graph.h"

namespace tessera {

/// Infers types and shapes of all values, nested graphs included, as far as inputs and constants tell them; small integer
/// tensors that compute shapes are followed symbolically. What is known already is refined, never forgotten. Throws
/// Error(kInvalidGraph) naming the node where types do not fit; shapes that do not fit leave the shape unknown.
void InferTypes(Graph& graph);

/// Whether InferTypes made this name of a dimension up; models may have the same by chance.
bool IsInferredName(std::string_view symbol);

/// The types that an operator's schema allows: throws Error(kInvalidGraph) naming the input or output that breaks it.
void CheckTypes(const Graph& graph, const Node& node);

}  // namespace tessera
