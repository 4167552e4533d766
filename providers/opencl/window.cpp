#include "window.h"

#include <algorithm>

#include "base/check.h"

namespace tessera::opencl {

bool Window::IsIdentity() const {
  for (size_t i = 0; i < rank; ++i) {
    if (kernel[i] != 1 || stride[i] != 1 || pad[i] != 0 || in[i] != out[i]) return false;
  }
  return true;
}

void Window::Fill(cl_int* in_, cl_int* out_, cl_int* kernel_, cl_int* stride_, cl_int* dilation_, cl_int* pad_) const {
  const size_t shift = 3 - rank;
  for (size_t i = 0; i < 3; ++i) {
    const bool real = i >= shift;
    const size_t j = real ? i - shift : 0;
    in_[i] = real ? static_cast<cl_int>(in[j]) : 1;
    out_[i] = real ? static_cast<cl_int>(out[j]) : 1;
    kernel_[i] = real ? static_cast<cl_int>(kernel[j]) : 1;
    stride_[i] = real ? static_cast<cl_int>(stride[j]) : 1;
    dilation_[i] = real ? static_cast<cl_int>(dilation[j]) : 1;
    pad_[i] = real ? static_cast<cl_int>(pad[j]) : 0;
  }
}

WindowAttributes::WindowAttributes(const KernelInfo& info)
    : kernel_shape_(info.attribute<std::vector<int64_t>>("kernel_shape", {})),
      strides_(info.attribute<std::vector<int64_t>>("strides", {})),
      dilations_(info.attribute<std::vector<int64_t>>("dilations", {})),
      pads_(info.attribute<std::vector<int64_t>>("pads", {})),
      auto_pad_(info.attribute<std::string>("auto_pad", "NOTSET")),
      ceil_(info.attribute<int64_t>("ceil_mode", 0) != 0) {}

Window WindowAttributes::Resolve(const Shape& input, std::span<const int64_t> kernel) const {
  Window w;
  w.rank = input.rank() - 2;
  Require(w.rank <= 3 && kernel.size() == w.rank, "a window of {} dimensions over input {}", kernel.size(), input);
  const auto at = [](const std::vector<int64_t>& list, size_t i, int64_t fallback) { return i < list.size() ? list[i] : fallback; };
  for (size_t i = 0; i < w.rank; ++i) {
    w.in[i] = input[i + 2];
    w.kernel[i] = kernel[i];
    w.stride[i] = at(strides_, i, 1);
    w.dilation[i] = at(dilations_, i, 1);
    Require(w.kernel[i] > 0 && w.stride[i] > 0 && w.dilation[i] > 0, "kernel, strides and dilations must be positive");
    const int64_t extent = (w.kernel[i] - 1) * w.dilation[i] + 1;
    int64_t begin = at(pads_, i, 0), end = at(pads_, w.rank + i, 0);
    if (auto_pad_ == "VALID") begin = end = 0;
    if (auto_pad_ == "SAME_UPPER" || auto_pad_ == "SAME_LOWER") {
      const int64_t wanted = (w.in[i] + w.stride[i] - 1) / w.stride[i];
      const int64_t total = std::max<int64_t>(0, (wanted - 1) * w.stride[i] + extent - w.in[i]);
      begin = auto_pad_ == "SAME_UPPER" ? total / 2 : total - total / 2;
      end = total - begin;
    }
    const int64_t span = w.in[i] + begin + end - extent;
    Require(span >= 0, "a window of {} does not fit {} padded elements", extent, w.in[i] + begin + end);
    w.out[i] = (ceil_ ? span + w.stride[i] - 1 : span) / w.stride[i] + 1;
    if (ceil_ && (w.out[i] - 1) * w.stride[i] >= w.in[i] + begin) --w.out[i];
    w.pad[i] = begin;
    w.pad_end[i] = end;
  }
  return w;
}

}  // namespace tessera::opencl
