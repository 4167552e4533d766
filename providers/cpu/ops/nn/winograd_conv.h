#pragma once

// Winograd convolution of 3x3, or of 3 along one axis, with constant weights, where it pays.

#include <memory>
#include <optional>

#include "graph/algorithm.h"
#include "kernels/conv/winograd/winograd.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// The spatial axes of a convolution's data, when they are known before it is seen.
std::optional<Shape> KnownImageShape(const KernelInfo& info);

/// Holds no weights where the transform does not pay.
class WinogradConv {
 public:
  /// `input` is the index of the constant weights of a convolution with one group. Where the size of the image is known,
  /// it alone decides, and weights that the transform replaces are released.
  WinogradConv(const KernelInfo& info, size_t input, const WindowAttributes& attributes);

  /// The weights' shape, when they were released: only Convolve can compute then.
  const Shape* released_weights() const { return released_ ? &weights_shape_ : nullptr; }
  bool Suits(const Window& window, int64_t batch) const;
  void Convolve(KernelContext& context, const Window& window, int64_t batch, const float* input,
                const Epilogue<float>& epilogue, float* output) const;

 private:
  const float* transformed() const { return transformed_->data<float>(); }
  int64_t outputs() const { return weights_shape_[0]; }
  int64_t channels() const { return weights_shape_[1]; }
  bool Pays(const Window& window, int64_t batch) const;

  Algorithm algorithm_;
  Shape weights_shape_;
  bool released_ = false;
  std::shared_ptr<const Tensor> transformed_;
};

}  // namespace tessera::cpu
