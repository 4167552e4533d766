#pragma once

// Convolution of an 8-bit image with constant 8-bit weights without zero points, packed at load, whose sums become codes while
// they are stored.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ops/nn/integer_conv.h"
#include "simd/gemm_u8s8.h"

namespace tessera::cpu {

class ByteConv {
 public:
  /// Numbers of the inputs. Gives the weights' memory back where it took them.
  ByteConv(const KernelInfo& info, size_t weights, size_t zero_point);

  /// False: the weights are not constant or have zero points, or this is not faster here.
  explicit operator bool() const { return !groups_.empty() || taps_.defined(); }
  int64_t outputs() const { return weights_[0]; }
  Window Fit(const Shape& x, const Tensor* bias) const { return CheckConvShapes(attributes_, group_, x, weights_, bias); }

  struct Output {
    Tensor* codes;
    std::span<const float> scales;  // one, or one for each output channel
    int32_t zero;
  };
  void Run(KernelContext& context, const Tensor& x, int32_t x_zero, const Tensor* bias, const Window& window, const Output& out) const;

 private:
  bool Depthwise() const { return group_ > 1 && weights_[1] == 1; }
  void RunDepthwise(KernelContext& context, const Tensor& x, int32_t x_zero, const Tensor* bias, const Window& window, const Output& out) const;
  void RunGroup(KernelContext& context, const ConvInput& layout, const PixelSource& source, const Window& window, const PackedLines& lines,
                const Int8Store& store) const;

  WindowAttributes attributes_;
  int64_t group_;
  Shape weights_;
  std::vector<PackedLines> groups_;
  Tensor taps_;  // of a depthwise convolution, widened
};

}  // namespace tessera::cpu
