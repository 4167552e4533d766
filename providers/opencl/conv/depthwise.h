#pragma once

// Convolutions by few filters, of each channel or of a group of channels, on processors: see depthwise.cl.

#include "opencl/conv/window.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {

class DepthwiseConv {
 public:
  explicit DepthwiseConv(const KernelInfo& info);

  /// Whether filters of these channels are few enough, and what the windows of the smallest tile read fits in an item's
  /// memory. The image doesn't matter.
  static bool Suits(const Window& window, int64_t group_in, int64_t group_out, ElementType type);
  void Compile(int64_t group_in) { KernelFor(group_in).Compile(); }
  void Convolve(KernelContext& context, const Tensor& x, const Tensor& w, const Tensor* bias, const Tensor& y,
                const Geometry& g, std::span<const Tensor* const> epilogue);

 private:
  LazyLaunchable& KernelFor(int64_t group_in) { return group_in == 1 ? depthwise_ : few_filters_; }

  const int64_t kept_;
  LazyLaunchable depthwise_, few_filters_;
};

}  // namespace tessera::opencl
