#include "ops/nn/window.h"

#include <string>
#include <vector>

#include "base/check.h"
#include "base/checked.h"
#include "tessera/provider/attributes.h"

namespace tessera {
namespace {

AutoPad ParseAutoPad(const Node& node) {
  const std::string text = AttributeOr<std::string>(node, "auto_pad", "NOTSET");
  if (text == "SAME_UPPER") return AutoPad::kSameUpper;
  if (text == "SAME_LOWER") return AutoPad::kSameLower;
  if (text == "VALID") return AutoPad::kValid;
  Require(text == "NOTSET" || text.empty(), "auto_pad is '{}', not NOTSET, SAME_UPPER, SAME_LOWER or VALID", text);
  return AutoPad::kNotSet;
}

Shape OrOnes(const Shape& values, size_t rank, std::string_view name) {
  if (values.rank() == 0) return Shape(rank, 1);
  Require(values.rank() == rank, "attribute '{}' has {} values, the input has {} spatial axes", name, values.rank(), rank);
  return values;
}

}  // namespace

Shape ListAttribute(const Node& node, std::string_view name) {
  const auto* values = FindTyped<std::vector<int64_t>>(node, name);
  return values == nullptr ? Shape() : Shape(*values);
}

Shape PositiveAttribute(const Node& node, std::string_view name) {
  Shape values = ListAttribute(node, name);
  for (int64_t value : values) {
    Require(value > 0 && value <= INT32_MAX, "attribute '{}' holds {}, which must be positive", name, value);
  }
  return values;
}

Window Window::WithRank(size_t wanted) const {
  const auto widen = [&](const Shape& given, int64_t fill) {
    Shape wide(wanted, fill);
    std::ranges::copy(given.dims(), wide.end() - given.rank());
    return wide;
  };
  return {widen(input, 1),     widen(output, 1), widen(kernel, 1), widen(strides, 1),
          widen(dilations, 1), widen(begin, 0),  widen(end, 0)};
}

WindowAttributes::WindowAttributes(const Node& node)
    : kernel_(PositiveAttribute(node, "kernel_shape")),
      strides_(PositiveAttribute(node, "strides")),
      dilations_(PositiveAttribute(node, "dilations")),
      pads_(ListAttribute(node, "pads")),
      auto_pad_(ParseAutoPad(node)),
      ceil_(AttributeOr<int64_t>(node, "ceil_mode", 0) != 0) {
  for (int64_t pad : pads_)
    Require(pad >= 0 && pad <= INT32_MAX, "attribute 'pads' holds {}, which must not be negative", pad);
}

Window WindowAttributes::Expand(std::span<const int64_t> input, std::span<const int64_t> kernel) const {
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
    if (pads_.rank() != 0 && auto_pad_ != AutoPad::kValid) {
      window.begin[i] = pads_[i];
      window.end[i] = pads_[rank + i];
    }
  }
  return window;
}

Window WindowAttributes::Fit(std::span<const int64_t> input, std::span<const int64_t> kernel) const {
  Window window = Expand(input, kernel);
  for (size_t i = 0; i < window.rank(); ++i) FitAxis(window, i);
  return window;
}

void WindowAttributes::FitAxis(Window& window, size_t i) const {
  const int64_t size = window.input[i];
  const int64_t stride = window.strides[i];
  const int64_t extent = window.extent(i);
  int64_t& output = window.output[i];
  if (pads_to_same()) {
    output = CeilDiv(size, stride);
    const int64_t total = std::max<int64_t>((output - 1) * stride + extent - size, 0);
    window.begin[i] = auto_pad_ == AutoPad::kSameUpper ? total / 2 : total - total / 2;
    window.end[i] = total - window.begin[i];
    return;
  }
  const int64_t remaining = size + window.begin[i] + window.end[i] - extent;
  if (remaining < 0) {
    // By the formula a window that is up to a stride larger than its input gives an empty output, and no output where it is
    // larger yet; rounded up, a part of a window is one. An empty axis gives an empty one.
    const int64_t lacking = -remaining;
    output = size == 0 ? 0 : 1 - (ceil_ ? lacking / stride : CeilDiv(lacking, stride));
    Require(output >= 0, "the window spans {} elements along spatial axis {}, the padded input has {}", extent, i,
            remaining + extent);
    return;
  }
  output = (ceil_ ? remaining + stride - 1 : remaining) / stride + 1;
  // The last window must start inside the input or its leading padding.
  if (ceil_ && (output - 1) * stride >= size + window.begin[i]) --output;
}

}  // namespace tessera
