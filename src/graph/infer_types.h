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

}  // namespace tessera
