#pragma once

// Operators with channels last, for providers of libraries that want images so: the model's operator between transposes,
// under the name of ONNX Runtime's domain for it.

#include <string_view>

#include "graph/graph.h"

namespace tessera {

/// Of operators whose first input and output have channels last; all else is as ai.onnx says.
inline constexpr std::string_view kChannelsLastDomain = "com.ms.internal.nhwc";

/// Whether the node's result depends on where the channels of its first input are, and it can be converted.
bool CanHaveChannelsLast(const Graph& graph, const Node& node);

/// Gives the node the other layout; what reads and computes its values sees no difference.
void SetChannelsLast(Graph& graph, NodeIndex node, bool last);

/// Takes pairs of transposes away that undo each other.
void CancelTransposes(Graph& graph);

}  // namespace tessera
