#pragma once

// Operators with channels last, for providers of libraries that want images so: the model's operator between transposes,
// under the name of ONNX Runtime's domain for it.

#include "graph/graph.h"
#include "graph/private_names.h"

namespace tessera {

/// Whether the node's result depends on where the channels of its first input are, and it can be converted.
bool CanHaveChannelsLast(const Graph& graph, const Node& node);

/// Gives the node the other layout; what reads and computes its values sees no difference.
void SetChannelsLast(Graph& graph, NodeIndex node, bool last);

/// Takes pairs of transposes away that undo each other.
void CancelTransposes(Graph& graph);

}  // namespace tessera
