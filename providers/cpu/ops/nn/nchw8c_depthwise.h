#pragma once

// A depthwise convolution of planes, eight of which at a time become a block of channels, are convolved and become planes
// again while they are in the caches.

#include "kernels/conv/depthwise/depthwise.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Images of `channels` planes, one output each; the window is one that kernels/conv/choose offers NCHW8c for.
void ConvolveDepthwiseByBlocks(KernelContext& context, const Window& window, int64_t batch, int64_t channels,
                               const DepthwiseTensors& tensors);

}  // namespace tessera::cpu
