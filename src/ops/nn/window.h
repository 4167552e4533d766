#pragma once

// The sliding window of convolutions and poolings: kernel_shape, strides, dilations, pads, auto_pad, ceil_mode.

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/rounding.h"
#include "tessera/provider/graph.h"
#include "tessera/shape.h"

namespace tessera {

enum class AutoPad : uint8_t { kNotSet, kSameUpper, kSameLower, kValid };

/// A list attribute as a Shape; empty when absent.
Shape ListAttribute(const Node& node, std::string_view name);
/// The same of positive numbers.
Shape PositiveAttribute(const Node& node, std::string_view name);

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
    const int64_t remaining = input[axis] - extent(axis) + begin[axis];
    return {first, std::clamp(remaining < 0 ? 0 : remaining / strides[axis] + 1, first, output[axis])};
  }
  /// The same with axes of one element before its own.
  Window WithRank(size_t wanted) const;
};

/// The attributes as the node states them, parsed once. Sizes, strides, dilations and pads are at most INT32_MAX, so that
/// none of their products overflows.
class WindowAttributes {
 public:
  explicit WindowAttributes(const Node& node);

  bool has_kernel() const { return kernel_.rank() != 0; }
  const Shape& kernel() const { return kernel_; }
  /// Empty: 1 along each axis.
  const Shape& strides() const { return strides_; }
  const Shape& dilations() const { return dilations_; }
  AutoPad auto_pad() const { return auto_pad_; }
  const Shape& pads() const { return pads_; }
  /// The padding follows from the sizes.
  bool pads_to_same() const { return auto_pad_ == AutoPad::kSameUpper || auto_pad_ == AutoPad::kSameLower; }
  bool ceil_mode() const { return ceil_; }

  /// Strides, dilations, kernel and explicit pads for the input's spatial axes, without an output.
  Window Expand(std::span<const int64_t> input, std::span<const int64_t> kernel) const;

  /// The window over an input of these spatial dimensions. Throws Error when the attributes do not fit.
  Window Fit(std::span<const int64_t> input, std::span<const int64_t> kernel) const;

 private:
  void FitAxis(Window& window, size_t i) const;

  Shape kernel_;
  Shape strides_;
  Shape dilations_;
  Shape pads_;
  AutoPad auto_pad_;
  bool ceil_;
};

}  // namespace tessera
