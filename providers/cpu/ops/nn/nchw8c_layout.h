#pragma once

// What the operators of domain ai.tessera, which use_nchw8c adds to graphs, share. Their values are [N, C/8, H, W, 8]
// or [N, C/8, D, H, W, 8].

#include "base/check.h"
#include "graph/private_names.h"
#include "kernels/conv/choose/problem.h"
#include "kernels/conv/nchw8c/nchw8c.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

inline KernelDef Nchw8cOp(std::string op_type) {
  return Op(std::move(op_type), kTesseraDomain).Types(0, {ElementType::kFloat});
}

/// Throws Error unless the tensor is in NCHW8c.
inline void RequireNchw8c(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  Require(tensor.is(ElementType::kFloat) && shape.rank() > 3 && shape.rank() <= kSpatialAxes + 3 &&
              shape.back() == kChannelBlock,
          "the input is {}, floats in blocks of {} channels are expected", shape, kChannelBlock);
}

/// The height, width and so on of an image in NCHW8c.
inline std::span<const int64_t> SpatialDims(const Shape& nchw8c) { return nchw8c.dims().subspan(2, nchw8c.rank() - 3); }
inline int64_t Pixels(const Shape& nchw8c) { return nchw8c.SizeOfRange(2, nchw8c.rank() - 1); }

/// Of a window with kSpatialAxes.
inline Nchw8cWindow ToNchw8cWindow(const Window& w) {
  const auto axis = [&](size_t i) {
    return Nchw8cAxis{w.input[i], w.output[i], w.kernel[i], w.strides[i], w.dilations[i], w.begin[i]};
  };
  return {axis(0), axis(1), axis(2)};
}

/// An image in NCHW8c: [batch, blocks, spatial..., 8].
inline Shape Nchw8cShape(int64_t batch, int64_t blocks, std::span<const int64_t> spatial) {
  Shape shape{batch, blocks};
  for (const int64_t size : spatial) shape.Append(size);
  shape.Append(kChannelBlock);
  return shape;
}

/// The epilogue of a convolution with an output of this shape: bias, residual and slopes are its inputs 2 to 4. Throws
/// Error where they do not fit.
Epilogue<float> EpilogueOf(const Activation<float>& activation, KernelContext& context, const Shape& output);

/// Planes of all channels, eight to each of `blocks`, to NCHW8c of `pixels`; split among threads.
void BringIntoBlocks(KernelContext& context, const float* planes, int64_t blocks, int64_t pixels, float* to);

}  // namespace tessera::cpu
