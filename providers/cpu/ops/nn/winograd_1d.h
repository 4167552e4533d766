#pragma once

// Winograd convolution of three taps, one step at a time, along one axis.

#include "kernels/epilogue.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// `weights`: transformed, [6][outputs][channels].
void ConvolveWinograd1d(KernelContext& context, const Window& window, int64_t batch, int64_t channels, int64_t outputs,
                        const float* weights, const float* input, const Epilogue<float>& epilogue, float* output);

}  // namespace tessera::cpu
