#pragma once

// Winograd convolution in NCHW8c along the last two axes.

#include <memory>

#include "kernels/conv/nchw8c/nchw8c.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Images in NCHW8c and their channels; `channels` and `outputs` of a group.
struct Nchw8cChannels {
  int64_t batch, group;
  int64_t channels, outputs;
};

/// weights[outputs of all groups][channels][slices][taps of y][taps of x] transformed and packed, [group][planes of the
/// form][...].
std::shared_ptr<const Tensor> PackNchw8cWinograd(ThreadPool& threads, WinogradForm form, int64_t group,
                                                 const Tensor& weights);

/// `window`, of kSpatialAxes, must be one that the form fits.
void ConvolveNchw8cWinograd(KernelContext& context, WinogradForm form, const Window& window, const Nchw8cChannels& of,
                            const float* weights, const float* input, const Epilogue<float>& epilogue, float* output);

}  // namespace tessera::cpu
