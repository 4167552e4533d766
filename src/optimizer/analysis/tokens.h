#pragma once

// Images made of tokens, pixels in NHWC, for a convolution, and tokens made of its output.

#include "graph/graph.h"

namespace tessera {

/// The value of [N, H * W, C] or [N, H, W, C] that the convolution's image is made of; kNone where it is made of something
/// else.
ValueIndex PixelsBefore(const Graph& graph, const Node& conv);

/// The Transpose that makes tokens or pixels of the convolution's output again; null where others read it.
const Node* TokensBehind(const Graph& graph, const Node& conv);

}  // namespace tessera
