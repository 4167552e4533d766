#pragma once

#include <CL/cl.h>

#include "ops/nn/window.h"

namespace tessera::opencl {

/// A convolution; missing spatial dimensions come first, with size 1. The same struct stands in prelude.cl.
struct Geometry {
  cl_int in[3], out[3], window[3], stride[3], dilation[3], pad[3];
  cl_int channels, filters, group_in, group_out;
};

/// Without channels, filters and groups. Throws Error when a size does not fit.
Geometry GeometryOf(const Window& window);

/// Of a convolution of an input [N, C, ...] with filters [M, C / group, ...].
Geometry ConvGeometry(const Window& window, const Shape& input, const Shape& filters, int64_t group);

/// Of an output image.
inline int64_t Positions(const Geometry& g) { return int64_t{g.out[0]} * g.out[1] * g.out[2]; }

/// Every position reads itself: one tap, one step, no padding.
bool IsIdentity(const Window& window);

}  // namespace tessera::opencl
