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

/// Gives a node the attributes that say so; only the CPU provider reads them.
void SetActivation(Node& node, const Activation& activation);

}  // namespace tessera
