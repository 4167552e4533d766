#include "ops/nn/conv_transpose.h"

#include <algorithm>

#include "base/check.h"
#include "base/checked.h"
#include "ops/nn/conv.h"
#include "tessera/provider/attributes.h"

namespace tessera {

ConvTransposeAttributes::ConvTransposeAttributes(const Node& node)
    : window(node),
      group(GroupOf(node)),
      output_padding(ListAttribute(node, "output_padding")),
      output_shape(ListAttribute(node, "output_shape")) {
  Require(group > 0, "attribute 'group' is {}, which must be positive", group);
  for (int64_t pad : output_padding) Require(pad >= 0 && pad <= INT32_MAX, "output_padding holds {}", pad);
  for (int64_t dim : output_shape) Require(dim > 0 && dim <= INT32_MAX, "output_shape holds {}", dim);
}

int64_t ConvTransposeAttributes::Outputs(const Shape& weights) const { return CheckedMul(weights[1], group); }

Shape ConvTransposeAttributes::ResultShape(const Shape& x, const Shape& weights, const Window& window) const {
  Shape shape{x[0], Outputs(weights)};
  for (const int64_t dim : window.input) shape.Append(dim);
  return shape;
}

Window ConvTransposeAttributes::Fit(const Shape& x, const Shape& weights, const Tensor* bias) const {
  Require(x.rank() >= 3, "the input must have batch, channels and at least one spatial axis, it is {}", x);
  Require(weights.rank() == x.rank(), "the weights are {}, the input is {}", weights, x);
  Require(x[1] == weights[0], "the input has {} channels, the weights take {}", x[1], weights[0]);
  Require(x[1] % group == 0, "{} channels do not divide into {} groups", x[1], group);
  const int64_t outputs = Outputs(weights);
  Require(bias == nullptr || bias->num_elements() == outputs, "the bias is {}, {} output channels need one each",
          OptionalShape{bias}, outputs);
  return FitImage(x.dims().subspan(2), weights.dims().subspan(2));
}

Window ConvTransposeAttributes::FitImage(std::span<const int64_t> input, std::span<const int64_t> kernel) const {
  Require(!window.has_kernel() || std::ranges::equal(window.kernel(), kernel), "kernel_shape is {}, the weights' is {}",
          window.kernel(), Shape(kernel));
  Window fitted = window.Expand(input, kernel);
  const size_t rank = input.size();
  const Shape &padding = output_padding, &wanted = output_shape;
  Require(padding.rank() == 0 || padding.rank() == rank, "output_padding has {} values, {} are expected", padding.rank(),
          rank);
  // Some exporters write output_shape with batch and channels.
  Require(wanted.rank() == 0 || wanted.rank() == rank || wanted.rank() == rank + 2,
          "output_shape has {} values, {} are expected", wanted.rank(), rank);
  const bool upper = window.auto_pad() == AutoPad::kSameUpper;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t extra = padding.rank() == 0 ? 0 : padding[i];
    const int64_t full = CheckedAdd(CheckedMul(fitted.strides[i], input[i] - 1), fitted.extent(i) + extra);
    int64_t size = 0;
    if (wanted.rank() != 0 || window.pads_to_same()) {
      size = wanted.rank() != 0 ? wanted[wanted.rank() - rank + i] : CheckedMul(input[i], fitted.strides[i]);
      const int64_t total = std::max<int64_t>(full - size, 0);
      // The odd element goes to the end for SAME_UPPER and to the beginning otherwise.
      fitted.begin[i] = upper ? total / 2 : total - total / 2;
      fitted.end[i] = total - fitted.begin[i];
    } else {
      size = full - fitted.begin[i] - fitted.end[i];
    }
    Require(size >= 0, "spatial axis {} of the output would have {} elements", i, size);
    fitted.output[i] = input[i];
    fitted.input[i] = size;
  }
  return fitted;
}

}  // namespace tessera
