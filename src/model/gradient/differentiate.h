#pragma once

#include "graph/graph.h"

namespace tessera {

/// Replaces every Gradient node of ai.onnx.preview.training by the nodes that compute its derivatives in reverse mode;
/// nested graphs included. Types are known before and after. Throws Error naming the operator for which no derivative is
/// known.
void DifferentiateGraph(Graph& graph);

}  // namespace tessera
