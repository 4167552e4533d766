#pragma once

// Winograd convolution of 3x3, or of 3 along one axis, with constant weights.

#include <memory>

#include "kernels/conv/winograd/winograd.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

class WinogradConv {
 public:
  /// Of a convolution with one group, whose weights are input 1, constant floats: 3x3, or 3 along one axis.
  explicit WinogradConv(const KernelInfo& info);

  /// `window` is one that kernels/conv/choose offers the transform for.
  void Convolve(KernelContext& context, const Window& window, int64_t batch, const float* input,
                const Epilogue<float>& epilogue, float* output) const;

 private:
  const float* transformed() const { return transformed_->data<float>(); }
  int64_t outputs() const { return weights_shape_[0]; }
  int64_t channels() const { return weights_shape_[1]; }

  Shape weights_shape_;
  std::shared_ptr<const Tensor> transformed_;
};

}  // namespace tessera::cpu
