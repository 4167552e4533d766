#pragma once

// Convolutions of few outputs, for which gathering windows takes as long as multiplying them: an implicit GEMM over the
// pixels of several images.

#include <memory>

#include "kernels/epilogue.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

class ImplicitGemmConv {
 public:
  /// Of a convolution whose weights are input 1, constant floats, which are released.
  ImplicitGemmConv(const KernelInfo& info, int64_t groups);

  void Convolve(KernelContext& context, const Window& window, int64_t batch, const float* input,
                const Epilogue<float>& epilogue, float* output) const;

 private:
  class Call;

  Shape weights_shape_;
  int64_t groups_;
  std::shared_ptr<const Tensor> packed_;  // by group
};

}  // namespace tessera::cpu
