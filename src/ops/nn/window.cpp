#include "ops/nn/window.h"

#include <string>
#include <vector>

#include "base/attribute.h"
#include "base/check.h"
#include "base/checked.h"

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

Shape ListAttribute(const Node& node, std::string_view name) {
  const auto* values = FindTyped<std::vector<int64_t>>(node, name);
  return values == nullptr ? Shape() : Shape(*values);
}

Shape OrOnes(const Shape& values, size_t rank, std::string_view name) {
  if (values.rank() == 0) return Shape(rank, 1);
  Require(values.rank() == rank, "attribute '{}' has {} values, the input has {} spatial axes", name, values.rank(), rank);
  return values;
}

}  // namespace

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
    if (pads_.rank() != 0) {
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
  if (auto_pad_ == AutoPad::kSameUpper || auto_pad_ == AutoPad::kSameLower) {
    output = CeilDiv(size, stride);
    const int64_t total = std::max<int64_t>((output - 1) * stride + extent - size, 0);
    window.begin[i] = auto_pad_ == AutoPad::kSameUpper ? total / 2 : total - total / 2;
    window.end[i] = total - window.begin[i];
    return;
  }
  if (auto_pad_ == AutoPad::kValid) window.begin[i] = window.end[i] = 0;
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

TransposeAttributes::TransposeAttributes(const Node& node)
    : window(node),
      group(AttributeOr<int64_t>(node, "group", 1)),
      output_padding(ListAttribute(node, "output_padding")),
      output_shape(ListAttribute(node, "output_shape")) {
  Require(group > 0, "attribute 'group' is {}, which must be positive", group);
  for (int64_t pad : output_padding) Require(pad >= 0 && pad <= INT32_MAX, "output_padding holds {}", pad);
  for (int64_t dim : output_shape) Require(dim > 0 && dim <= INT32_MAX, "output_shape holds {}", dim);
}

Window FitTransposed(const TransposeAttributes& attributes, std::span<const int64_t> input,
                     std::span<const int64_t> kernel) {
  Window window = attributes.window.Expand(input, kernel);
  const size_t rank = input.size();
  const Shape& padding = attributes.output_padding;
  const Shape& wanted = attributes.output_shape;
  Require(padding.rank() == 0 || padding.rank() == rank, "output_padding has {} values, {} are expected", padding.rank(),
          rank);
  // Some exporters write output_shape with batch and channels.
  Require(wanted.rank() == 0 || wanted.rank() == rank || wanted.rank() == rank + 2,
          "output_shape has {} values, {} are expected", wanted.rank(), rank);
  const AutoPad auto_pad = attributes.window.auto_pad();
  const bool same = auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t extra = padding.rank() == 0 ? 0 : padding[i];
    const int64_t full = CheckedAdd(CheckedMul(window.strides[i], input[i] - 1), window.extent(i) + extra);
    int64_t size = 0;
    if (wanted.rank() != 0 || same) {
      size = wanted.rank() != 0 ? wanted[wanted.rank() - rank + i] : CheckedMul(input[i], window.strides[i]);
      const int64_t total = std::max<int64_t>(full - size, 0);
      // The odd element goes to the end for SAME_UPPER and to the beginning otherwise.
      window.begin[i] = auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
      window.end[i] = total - window.begin[i];
    } else {
      if (auto_pad == AutoPad::kValid) window.begin[i] = window.end[i] = 0;
      size = full - window.begin[i] - window.end[i];
    }
    Require(size >= 0, "spatial axis {} of the output would have {} elements", i, size);
    window.output[i] = input[i];
    window.input[i] = size;
  }
  return window;
}

}  // namespace tessera
