#pragma once

// The sliding window of convolutions and poolings: kernel_shape, strides, dilations, pads, auto_pad, ceil_mode.

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/rounding.h"
#include "tessera/kernel.h"

namespace tessera::cpu {

enum class AutoPad : uint8_t { kNotSet, kSameUpper, kSameLower, kValid };

inline AutoPad ParseAutoPad(const KernelInfo& info) {
  const std::string text = info.attribute<std::string>("auto_pad", "NOTSET");
  if (text == "SAME_UPPER") return AutoPad::kSameUpper;
  if (text == "SAME_LOWER") return AutoPad::kSameLower;
  if (text == "VALID") return AutoPad::kValid;
  Require(text == "NOTSET" || text.empty(), "auto_pad is '{}', not NOTSET, SAME_UPPER, SAME_LOWER or VALID", text);
  return AutoPad::kNotSet;
}

/// A positive list attribute as a Shape; empty when absent.
inline Shape PositiveAttribute(const KernelInfo& info, std::string_view name) {
  const Shape values(info.attribute(name, std::vector<int64_t>{}));
  for (int64_t value : values) {
    Require(value > 0 && value <= INT32_MAX, "attribute '{}' holds {}, which must be positive", name, value);
  }
  return values;
}

/// A window fitted to an input: one entry per spatial axis.
struct Window {
  Shape input;
  Shape output;
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape begin;  // padding before and after
  Shape end;

  size_t rank() const { return input.rank(); }
  int64_t extent(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
  /// Outputs [first, last) along an axis whose taps are all inside the input.
  std::pair<int64_t, int64_t> inner(size_t axis) const {
    const int64_t first = std::min(CeilDiv(begin[axis], strides[axis]), output[axis]);
    const int64_t room = input[axis] - extent(axis) + begin[axis];
    return {first, std::clamp(room < 0 ? 0 : room / strides[axis] + 1, first, output[axis])};
  }
};

/// The attributes as the node states them, parsed once.
class WindowAttributes {
 public:
  explicit WindowAttributes(const KernelInfo& info)
      : kernel_(PositiveAttribute(info, "kernel_shape")),
        strides_(PositiveAttribute(info, "strides")),
        dilations_(PositiveAttribute(info, "dilations")),
        pads_(info.attribute("pads", std::vector<int64_t>{})),
        auto_pad_(ParseAutoPad(info)),
        ceil_(info.attribute<int64_t>("ceil_mode", 0) != 0) {
    for (int64_t pad : pads_) Require(pad >= 0 && pad <= INT32_MAX, "attribute 'pads' holds {}, which must not be negative", pad);
  }

  bool has_kernel() const { return kernel_.rank() != 0; }
  const Shape& kernel() const { return kernel_; }
  AutoPad auto_pad() const { return auto_pad_; }
  const Shape& pads() const { return pads_; }

  /// Strides, dilations, kernel and explicit pads for `rank` spatial axes, without an output.
  Window Expand(std::span<const int64_t> input, std::span<const int64_t> kernel) const {
    const size_t rank = input.size();
    Window window;
    window.input.Assign(input);
    window.kernel.Assign(kernel);
    Require(kernel.size() == rank, "the kernel has {} axes, the input has {} spatial axes", kernel.size(), rank);
    window.strides = OrOnes(strides_, rank, "strides");
    window.dilations = OrOnes(dilations_, rank, "dilations");
    window.begin = Shape(rank);
    window.end = Shape(rank);
    window.output = Shape(rank);
    Require(pads_.rank() == 0 || pads_.rank() == 2 * rank, "attribute 'pads' has {} values, {} are expected", pads_.rank(),
            2 * rank);
    for (size_t i = 0; i < rank; ++i) {
      Require(kernel[i] > 0 && kernel[i] <= INT32_MAX, "the kernel's size along spatial axis {} is {}", i, kernel[i]);
      Require(input[i] <= (int64_t{1} << 40), "spatial axis {} has {} elements", i, input[i]);
      if (pads_.rank() != 0) {
        window.begin[i] = pads_[i];
        window.end[i] = pads_[rank + i];
      }
    }
    return window;
  }

  /// The window over an input of these spatial dimensions. Throws Error when the attributes do not fit.
  Window Fit(std::span<const int64_t> input, std::span<const int64_t> kernel) const {
    Window window = Expand(input, kernel);
    for (size_t i = 0; i < window.rank(); ++i) FitAxis(window, i);
    return window;
  }

 private:
  static Shape OrOnes(const Shape& values, size_t rank, std::string_view name) {
    if (values.rank() == 0) return Shape(rank, 1);
    Require(values.rank() == rank, "attribute '{}' has {} values, the input has {} spatial axes", name, values.rank(), rank);
    return values;
  }

  void FitAxis(Window& window, size_t i) const {
    const int64_t size = window.input[i];
    const int64_t stride = window.strides[i];
    const int64_t extent = window.extent(i);
    int64_t& output = window.output[i];
    if (auto_pad_ == AutoPad::kSameUpper || auto_pad_ == AutoPad::kSameLower) {
      output = CeilDiv(size, stride);
      const int64_t total = std::max<int64_t>((output - 1) * stride + extent - size, 0);
      window.begin[i] = auto_pad_ == AutoPad::kSameUpper ? total / 2 : total - total / 2;
      window.end[i] = total - window.begin[i];
      return;
    }
    if (auto_pad_ == AutoPad::kValid) window.begin[i] = window.end[i] = 0;
    const int64_t room = size + window.begin[i] + window.end[i] - extent;
    if (room < 0) {
      // An empty axis gives an empty output; a window larger than its input is an error.
      Require(size == 0, "the window spans {} elements along spatial axis {}, the padded input has {}", extent, i, room + extent);
      output = 0;
      return;
    }
    output = (ceil_ ? room + stride - 1 : room) / stride + 1;
    // The last window must start inside the input or its leading padding.
    if (ceil_ && (output - 1) * stride >= size + window.begin[i]) --output;
  }

  Shape kernel_;
  Shape strides_;
  Shape dilations_;
  Shape pads_;
  AutoPad auto_pad_;
  bool ceil_;
};

/// Calls `visit(index)` for every multi-index of `shape` in row-major order; an empty shape has one.
template <class Visit>
void ForEachIndex(std::span<const int64_t> shape, Visit&& visit) {
  for (int64_t dim : shape) {
    if (dim <= 0) return;
  }
  Shape index(shape.size());
  while (true) {
    visit(static_cast<const Shape&>(index));
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace tessera::cpu
