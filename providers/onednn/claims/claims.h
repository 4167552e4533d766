#pragma once

// The cost rule: which of the nodes that can be lowered oneDNN computes faster than the CPU provider.
//
// Of operands that are to be rounded to 16 bits all of them, but for matmuls in bfloat16 where the processor has no tiles
// (AMX): on Zen 5 the CPU provider takes 0.80 to 0.95 of oneDNN's time for those, attention included. Not beside
// convolutions on several threads, though: what goes back and forth between the two waits more than it gains (ConvNeXt at
// two threads 24 ms, else 16).
//
// Networks almost all of whose convolutions the CPU provider computes through Winograd's transform are left, too, where
// there are no tiles: float32 takes less time then than bfloat16 without it. On Zen 4 at one thread, float32 and bfloat16:
// U-Net 90 and 95 ms, a super-resolution network 43 and 60, VGG-11 67 and 75; but ResNet-18, with four fifths of it, 17.9
// and 16.3.
//
// Where it multiplies bfloat16 slower than float32 (Intel's processors without tiles) operands are not rounded, and float32
// it is.
//
// Float32 is left. The CPU provider keeps images in blocks of channels, too, from convolution to convolution, with more
// choices of how to cut each one and Winograd's transform for volumes and dilated windows; it packs weights of matmuls
// once, and hands its loops out in pieces, where a primitive gives each thread its share and waits for the last of them.
// Measured with oneDNN 2.6 at one thread, the CPU provider's speed over oneDNN's: on Zen 4 (AVX-512) ResNet-50 1.01,
// ShuffleNetV2 1.00, ConvNeXt 1.01, MobileNetV2 1.05, MobileNetV3 1.09, DenseNet 1.10, SSDLite 1.10, a ResNet-18 of
// volumes 2.1, more at two threads; on Zen 3 (AVX2) networks of images 1.0 to 1.2, transformers 1.0 to 2.0, pooling by
// itself 2.5 and more. On Zen 5, before the CPU provider asked for its weights ahead, oneDNN was 1.10 times as fast on
// MobileNetV2 and 1.04 on ResNet-50, and slower on the others.
//
// Convolutions and matmuls of 8-bit quantized values are claimed where the processor multiplies tiles of them (AMX): the
// CPU provider has dot products of four (VNNI) at most.

#include <string>
#include <vector>

#include "tessera/provider/graph.h"

namespace tessera::onednn {

enum class Claims {
  kFaster,         // what oneDNN computes faster than the CPU provider on this processor
  kFasterRounded,  // the same where operands are rounded to bfloat16
  kRounded,        // where operands are rounded, all matmuls, too
  kAll,            // all that can be lowered
};

/// Why the CPU provider is to have a node that can be lowered; empty when oneDNN is.
std::string WhyLeave(const GraphViewer& graph, const Node& node, Claims claims);

/// By node: the parts of spelt-out attention that are left to the CPU provider, which computes it as one, with all its
/// parts or none. `claimed`: what can be claimed.
std::vector<bool> LeftAttention(const GraphViewer& graph, const std::vector<bool>& claimed, Claims claims);

/// Whether the convolutions, those among `claimed` and those of floats that another provider has rewritten for itself, are
/// faster in float32, transformed, than in bfloat16.
bool TransformsAreFaster(const GraphViewer& graph, const std::vector<bool>& claimed);

bool IsMatMul(const Node& node);

/// Whether a region with this node in it is worth compiling.
bool IsAnchor(const GraphViewer& graph, const Node& node, Claims claims);

}  // namespace tessera::onednn
