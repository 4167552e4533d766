#pragma once

// Convolutions of each channel by filters of its own, on processors: see ops/depthwise.cl.

#include "kernel.h"
#include "window.h"

namespace tessera::opencl {

class DepthwiseConv {
 public:
  explicit DepthwiseConv(const KernelInfo& info);

  /// Whether what the windows of the smallest tile read fits in an item's memory. The image doesn't matter.
  static bool Suits(const Window& window, ElementType type);
  void Compile() { kernel_.Compile(); }
  void Convolve(KernelContext& context, const Tensor& x, const Tensor& w, const Tensor* bias, const Tensor& y, const Geometry& g,
                std::span<const Tensor* const> epilogue);

 private:
  const int64_t lines_;
  LazyLaunchable kernel_;
};

}  // namespace tessera::opencl
