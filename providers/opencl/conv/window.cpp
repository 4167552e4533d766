#include "opencl/conv/window.h"

#include "base/check.h"

namespace tessera::opencl {

Geometry GeometryOf(const Window& window) {
  const size_t rank = window.rank();
  Require(rank >= 1 && rank <= 3, "a window of {} dimensions; OpenCL kernels slide one to three", rank);
  Geometry g{};
  for (size_t i = 0; i < 3; ++i) {
    const auto at = [&](const Shape& values, cl_int missing) {
      if (i + rank < 3) return missing;
      const int64_t value = values[i + rank - 3];
      Require(value >= INT32_MIN && value <= INT32_MAX, "{} along spatial axis {} is more than OpenCL kernels count", value,
              i + rank - 3);
      return static_cast<cl_int>(value);
    };
    g.in[i] = at(window.input, 1);
    g.out[i] = at(window.output, 1);
    g.window[i] = at(window.kernel, 1);
    g.stride[i] = at(window.strides, 1);
    g.dilation[i] = at(window.dilations, 1);
    g.pad[i] = at(window.begin, 0);
  }
  return g;
}

Geometry ConvGeometry(const Window& window, const Shape& input, const Shape& filters, int64_t group) {
  Geometry g = GeometryOf(window);
  g.channels = static_cast<cl_int>(input[1]);
  g.filters = static_cast<cl_int>(filters[0]);
  g.group_in = static_cast<cl_int>(filters[1]);
  g.group_out = static_cast<cl_int>(filters[0] / group);
  return g;
}

bool IsIdentity(const Window& window) {
  for (size_t i = 0; i < window.rank(); ++i) {
    if (window.kernel[i] != 1 || window.strides[i] != 1 || window.begin[i] != 0 || window.input[i] != window.output[i])
      return false;
  }
  return true;
}

}  // namespace tessera::opencl
