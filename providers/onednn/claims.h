#pragma once

// The cost rule: which of the nodes that can be lowered oneDNN computes faster than the CPU provider.
//
// With AVX-512 all of them: oneDNN has convolutions for it (and products for AMX) that the CPU provider has not.
//
// Below, on AVX2, the CPU provider keeps images in blocks of channels, too, from convolution to convolution, with more choices of
// how to cut each one; it packs weights of products once, and hands its loops out in pieces, where a primitive gives each thread
// its share and waits for the last of them. Measured with oneDNN 2.6 on Zen 3 at one thread, the CPU provider's time over
// oneDNN's: convolutions of volumes in one group 1.12 to 1.40, but of each channel by itself 0.11; images in blocks 0.85 to 1.0,
// in channel counts that eight does not divide 0.17 to 0.43; sequences 0.90 to 1.01; ConvTranspose 0.26 to 0.95; pooling by itself
// 0.06 to 0.40; products with weights 0.55 to 1.1, whole transformers 0.5 to 1.0. So what is claimed there is convolutions of
// volumes and what stands between them.

#include <string>

#include "tessera/graph.h"

namespace tessera::onednn {

enum class Claims {
  kFaster,  // what oneDNN computes faster than the CPU provider on this processor
  kAll,     // all that can be lowered
};

/// Why the CPU provider is to have a node that can be lowered; empty when oneDNN is.
std::string WhyLeave(const GraphViewer& graph, const Node& node, Claims claims);

/// Whether a region with this node in it is worth compiling.
bool IsAnchor(const Node& node, Claims claims);

}  // namespace tessera::onednn
