#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace tessera {

/// The bounds of a Slice that are constants; as many of each. Axes are from the front, none appears twice.
struct SliceBounds {
  std::vector<int64_t> starts, ends, axes, steps;
};

/// None where they are computed, an axis is counted from the end of an unknown rank, or the kernel would refuse them for
/// the rank that is known.
std::optional<SliceBounds> SliceBoundsOf(const Graph& graph, const Node& slice);

}  // namespace tessera
