#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"

namespace tessera {

/// What the CPU provider's matmuls and convolutions can apply to their results in the epilogue.
struct Activation {
  std::string name;
  float alpha = 0, beta = 0;
};

std::optional<Activation> ActivationOf(const Graph& graph, const Node& node);

/// Gives a node of ai.tessera the attributes that say so.
void SetActivation(Node& node, const Activation& activation);

/// Whether the node's attributes name an activation.
bool HasActivation(const Node& node);

/// Conv of ai.onnx, or FusedConv of ai.tessera, which is the same with an activation.
bool IsConv(const Node& node);

}  // namespace tessera
