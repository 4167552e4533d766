#pragma once

// Convolutions over blocks of channels whose windows are 3x3 along the last two axes, through Winograd's transform.

#include <memory>

#include "base/window.h"
#include "simd/blocked.h"
#include "tessera/kernel.h"

namespace tessera::cpu {

/// weights[outputs][channels][slices][3][3] transformed and packed: 36 matrices.
std::shared_ptr<const Tensor> PackBlockedWinograd(ThreadPool& threads, const Tensor& weights);

/// `window`, of kSpatialAxes, must be one that WinogradPays accepts.
void ConvolveBlockedWinograd(KernelContext& context, const Window& window, int64_t batch, int64_t channels, int64_t outputs,
                             const float* weights, const float* input, const BlockedEpilogue& epilogue, float* output);

}  // namespace tessera::cpu
