#pragma once

#include <CL/cl.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "tessera/kernel.h"

namespace tessera::opencl {

/// A convolution; missing spatial dimensions come first, with size 1. The same struct stands in ops/prelude.cl.
struct Geometry {
  cl_int in[3], out[3], window[3], stride[3], dilation[3], pad[3];
  cl_int channels, filters, group_in, group_out;
};

/// A window over up to three spatial dimensions; missing ones come first, with size 1.
struct Window {
  std::array<int64_t, 3> in{}, out{}, kernel{}, stride{}, dilation{}, pad{}, pad_end{};
  size_t rank = 0;

  /// Every position reads itself: one tap, one step, no padding.
  bool IsIdentity() const;
  void Fill(cl_int* in_, cl_int* out_, cl_int* kernel_, cl_int* stride_, cl_int* dilation_, cl_int* pad_) const;
};

/// The attributes that convolution and pooling share: kernel_shape, strides, dilations, pads, auto_pad, ceil_mode.
class WindowAttributes {
 public:
  explicit WindowAttributes(const KernelInfo& info);
  /// For an input [N, C, spatial...]. Throws Error where they do not fit.
  Window Resolve(const Shape& input, std::span<const int64_t> kernel) const;
  std::span<const int64_t> kernel_shape() const { return kernel_shape_; }

 private:
  std::vector<int64_t> kernel_shape_, strides_, dilations_, pads_;
  std::string auto_pad_;
  bool ceil_;
};

}  // namespace tessera::opencl
