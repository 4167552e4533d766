#pragma once

// A depthwise convolution of planes of few pixels: as many at a time as a vector has lanes.

#include "kernels/conv/depthwise/depthwise.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Images of `channels` planes, `multiplier` outputs of each; the window is one that kernels/conv/choose offers small
/// planes for.
void ConvolveSmallPlanes(KernelContext& context, const Window& window, int64_t batch, int64_t channels, int64_t multiplier,
                         const DepthwiseTensors& tensors);

}  // namespace tessera::cpu
