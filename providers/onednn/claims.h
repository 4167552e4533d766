#pragma once

// The cost rule: which of the nodes that can be lowered oneDNN computes faster than the CPU provider.
//
// Of factors that are to be rounded to 16 bits all of them, but for products in bfloat16 where the processor has no tiles (AMX): on
// Zen 5 the CPU provider takes 0.80 to 0.95 of oneDNN's time for those, attention included. Not beside convolutions on several
// threads, though: what goes back and forth between the two waits more than it gains (ConvNeXt at two threads 24 ms, else 16).
//
// With AVX-512 convolutions of float32 and what stands between them. Measured on Zen 5 at one and two threads, the CPU provider's
// time over oneDNN's: MobileNetV2 1.10, ResNet-50 1.04, MobileNetV3 1.03, U-Net 0.99, EfficientNet 0.98, DenseNet 0.89 and 0.77;
// but transformers, which are products, 0.93 to 0.98.
//
// Below, on AVX2, the CPU provider keeps images in blocks of channels, too, from convolution to convolution, with more choices of
// how to cut each one; it packs weights of products once, and hands its loops out in pieces, where a primitive gives each thread
// its share and waits for the last of them. Measured with oneDNN 2.6 on Zen 3 at one thread, the CPU provider's time over
// oneDNN's: images in blocks 0.85 to 1.0, in channel counts that eight does not divide 0.17 to 0.43; sequences 0.90 to 1.01;
// ConvTranspose 0.26 to 0.95; pooling by itself 0.06 to 0.40; products with weights 0.55 to 1.1, whole transformers 0.5 to 1.0.
//
// Convolutions of volumes are left everywhere: in blocks of channels, with Winograd's transform slice by slice, the CPU provider
// takes 0.34 to 0.72 of oneDNN's time for them on Zen 5 (six of 64 channels, 3x3x3: 22 and 64 ms; R(2+1)D 120 and 166).
//
// Convolutions and products of 8-bit codes are claimed where the processor multiplies tiles of them (AMX): the CPU provider has dot
// products of four (VNNI) at most.

#include <string>

#include "tessera/graph.h"

namespace tessera::onednn {

enum class Claims {
  kFaster,         // what oneDNN computes faster than the CPU provider on this processor
  kFasterRounded,  // the same where factors are rounded to bfloat16
  kRounded,        // where factors are rounded, all products, too
  kAll,            // all that can be lowered
};

/// Why the CPU provider is to have a node that can be lowered; empty when oneDNN is.
std::string WhyLeave(const GraphViewer& graph, const Node& node, Claims claims);

bool IsProduct(const Node& node);

/// Whether a region with this node in it is worth compiling.
bool IsAnchor(const GraphViewer& graph, const Node& node, Claims claims);

}  // namespace tessera::onednn
