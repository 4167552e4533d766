#pragma once

// Operators that move an image's pixels or whole blocks of its channels, and say by axis how.

#include <optional>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace tessera {

/// The same on [N, C/8, spatial..., 8].
struct Nchw8cMovement {
  Node node;                                         // with the attributes for that rank
  std::vector<std::pair<size_t, Tensor>> constants;  // inputs that become these
  std::optional<size_t> sizes;                       // an input that lists all axes' sizes as the plain image has them
};

/// Resize, Upsample, Pad, Slice or Split of an image [N, C, spatial...] of so many channels, whole blocks. Nothing for
/// other nodes, where channels would leave their blocks, and where the numbers are no constants, but for sizes.
std::optional<Nchw8cMovement> MovedInNchw8c(const Graph& graph, const Node& node, int64_t channels);

}  // namespace tessera
