// trim_conv_kernels: taps of a convolution that only ever meet padding leave its kernel. Dilated convolutions on small
// images (DeepLab's atrous pyramid) and 3x3 kernels on 1x1 images (the last scales of SSD) lose up to eight of their nine
// taps.

#include <algorithm>
#include <cstring>

#include "base/load_limits.h"
#include "base/rounding.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/channels.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// One spatial axis of a convolution.
struct Axis {
  int64_t size, kernel, stride, dilation, begin, end;
  int64_t first = 0, last = 0;  // taps that meet the image, as a range

  int64_t outputs() const { return (size + begin + end - (kernel - 1) * dilation - 1) / stride + 1; }

  bool MeetsImage(int64_t tap) const {
    const int64_t start = tap * dilation - begin;  // where the first window has it
    const int64_t steps = start >= 0 ? 0 : CeilDiv(-start, stride);
    return steps < outputs() && start + steps * stride < size;
  }

  /// Finds the taps; false where they cannot be cut off at the ends.
  bool FindTaps() {
    if (size + begin + end < (kernel - 1) * dilation + 1) return false;
    while (first < kernel && !MeetsImage(first)) ++first;
    for (last = kernel; last > first && !MeetsImage(last - 1);) --last;
    begin -= first * dilation;
    end -= (kernel - last) * dilation;
    return first < last && begin >= 0 && end >= 0;
  }
};

std::optional<std::vector<Axis>> AxesOf(const Node& conv, const SymbolicShape& image, const Shape& weights) {
  const size_t count = weights.rank() - 2;
  const auto attributes = ValidAttributes<WindowAttributes>(conv);
  if (!attributes || attributes->auto_pad() != AutoPad::kNotSet) return std::nullopt;
  const auto window = WindowBeforeImage(*attributes, weights.dims().subspan(2));
  if (!window) return std::nullopt;
  std::vector<Axis> axes;
  for (size_t i = 0; i < count; ++i) {
    if (!image[i + 2].known() || image[i + 2].value <= 0 || image[i + 2].value > kMostOfWindow) return std::nullopt;
    axes.push_back({image[i + 2].value, window->kernel[i], window->strides[i], window->dilations[i], window->begin[i],
                    window->end[i]});
  }
  return axes;
}

Tensor Crop(const Tensor& weights, std::span<const Axis> axes, Allocator& memory) {
  std::vector<int64_t> dims = {weights.shape()[0], weights.shape()[1]};
  for (const Axis& axis : axes) dims.push_back(axis.last - axis.first);
  Tensor cropped(weights.type(), Shape(std::span<const int64_t>(dims)), memory);
  const size_t element =
      cropped.num_elements() == 0 ? 0 : cropped.byte_size() / static_cast<size_t>(cropped.num_elements());
  const auto* from = static_cast<const std::byte*>(weights.raw());
  auto* to = static_cast<std::byte*>(cropped.mutable_raw());
  const size_t row = static_cast<size_t>(dims.back()) * element;
  const int64_t rows = cropped.num_elements() / dims.back();
  for (int64_t r = 0; r < rows; ++r, to += row) {
    int64_t rest = r, offset = axes.back().first, step = axes.back().kernel;
    for (size_t i = axes.size() - 1; i-- > 0;) {
      const int64_t taps = axes[i].last - axes[i].first;
      offset += (axes[i].first + rest % taps) * step;
      rest /= taps;
      step *= axes[i].kernel;
    }
    std::memcpy(to, from + static_cast<size_t>(offset + rest * step) * element, row);
  }
  return cropped;
}

class KernelCropping final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    Node& conv = graph.node(index);
    if (!IsOp(conv, "Conv") || !HasInput(conv, 0)) return false;
    const SymbolicShape* image = ShapeOf(graph, conv.inputs[0]);
    const Tensor* constant = ConstantInput(graph, conv, 1);
    if (image == nullptr || constant == nullptr || image->size() < 3 || constant->shape().rank() != image->size())
      return false;
    const Tensor weights = *constant;  // a new constant moves the old ones
    auto axes = AxesOf(conv, *image, weights.shape());
    if (!axes || weights.num_elements() == 0) return false;
    bool fewer = false;
    for (Axis& axis : *axes) {
      if (!axis.FindTaps()) return false;
      fewer = fewer || axis.last - axis.first < axis.kernel;
    }
    // Padding times infinity would have been NaN.
    if (!fewer || !AllFinite(weights)) return false;
    std::vector<int64_t> kernel, pads;
    for (const Axis& axis : *axes) {
      kernel.push_back(axis.last - axis.first);
      pads.push_back(axis.begin);
    }
    for (const Axis& axis : *axes) pads.push_back(axis.end);
    SetAttribute(conv, "kernel_shape", std::move(kernel));
    SetAttribute(conv, "pads", std::move(pads));
    graph.SetInput(index, 1, graph.AddConstant("", Crop(weights, *axes, graph.limits().memory())));
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> TrimConvKernels() { return std::make_unique<KernelCropping>(); }

}  // namespace tessera
