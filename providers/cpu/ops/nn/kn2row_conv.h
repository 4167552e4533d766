#pragma once

// kn2row, for convolutions with few outputs: an im2col GEMM would have few rows for the inputs gathered at each tap. So all
// taps of all outputs are multiplied with the pixels first, and each output pixel adds up what the taps contribute to it,
// as in ConvTranspose.

#include <memory>

#include "kernels/epilogue.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

class Kn2RowConv {
 public:
  /// Of a convolution with one group, whose weights are input 1, constant floats.
  explicit Kn2RowConv(const KernelInfo& info);

  /// `window` is one that kernels/conv/choose offers kn2row for.
  void Convolve(KernelContext& context, const Window& window, int64_t batch, const float* input,
                const Epilogue<float>& epilogue, float* output) const;

 private:
  Shape weights_shape_;
  std::shared_ptr<const Tensor> transposed_;  // [outputs][taps, the last first][channels]
};

}  // namespace tessera::cpu
