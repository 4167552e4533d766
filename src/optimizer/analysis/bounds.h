#pragma once

#include <limits>
#include <optional>

#include "graph/graph.h"

namespace tessera {

/// What Relu and Clip keep a value between.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// Of a Relu or Clip of floats whose bounds are constants in order.
std::optional<Bounds> BoundsOf(const Graph& graph, const Node& node);

}  // namespace tessera
