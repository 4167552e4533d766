#pragma once

// Quantized convolutions of images with few output pixels: as those of floats (small_images.h), the pixels of all images
// are rows of one GEMM.

#include <memory>
#include <optional>
#include <vector>

#include "cpu/ops/nn/integer_conv.h"
#include "cpu/ops/nn/requantization.h"
#include "kernels/gemm/gemm_u8s8.h"

namespace tessera::cpu {

class SmallQuantizedConv {
 public:
  /// Gives the weights' memory back. The convolution is one that kernels/conv/choose offers one GEMM over all images for.
  SmallQuantizedConv(const KernelInfo& info, const ConvInputs& inputs);

  int64_t outputs() const { return weights_[0]; }
  Window Fit(const Shape& x, const Tensor* bias) const { return attributes_.Fit(x, weights_, bias); }

  void Run(KernelContext& context, const Window& window, Tensor& y) const;

 private:
  class Call;

  ConvAttributes attributes_;
  Shape weights_;
  std::vector<int32_t> weight_zeros_;  // what the pixels' sums are multiplied with, by output channel; empty: the weights
                                       // have no zero points
  std::shared_ptr<const PackedWeightsS8> packed_;  // [taps, channels] of each output
  std::optional<Requantization> requantization_;
};

}  // namespace tessera::cpu
