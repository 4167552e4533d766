#pragma once

// Convolutions of images with few output pixels: a GEMM of one image would have a handful of rows and read all weights
// for them. So the pixels of many images are rows of one GEMM, each with the channels of its taps one after the other, and
// weights in the same order.

#include <memory>

#include "kernels/epilogue.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

class SmallImagesConv {
 public:
  /// Of a convolution with one group, whose weights are input 1, constant floats, which are released.
  explicit SmallImagesConv(const KernelInfo& info);

  void Convolve(KernelContext& context, const Window& window, int64_t batch, const float* input,
                const Epilogue<float>& epilogue, float* output) const;

 private:
  class Call;

  Shape weights_shape_;
  std::shared_ptr<const Tensor> packed_;  // of the matrix [taps, channels] by outputs
};

}  // namespace tessera::cpu
