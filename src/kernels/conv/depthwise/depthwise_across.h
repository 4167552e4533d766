#pragma once

// Depthwise convolution with a plane in each lane: for images whose rows fill vectors badly.

#include "kernels/conv/depthwise/depthwise.h"

namespace tessera::cpu {

/// For shapes that SuitsDepthwise knows: input planes from `begin` on, on the calling thread. Gives the first plane that it
/// leaves: all where the shape or the processor is not one for it, few at the end.
int64_t ConvolveDepthwiseAcross(const DepthwiseShape& shape, const DepthwiseTensors& tensors, int64_t begin, int64_t end);

}  // namespace tessera::cpu
