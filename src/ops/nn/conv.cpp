#include "ops/nn/conv.h"

#include <algorithm>

#include "base/check.h"
#include "base/checked.h"

namespace tessera {

ConvAttributes::ConvAttributes(const Node& node) : window(node), group(GroupOf(node)) {
  Require(group > 0, "attribute 'group' is {}, which must be positive", group);
}

void ConvAttributes::Check(const Shape& x, const Shape& weights, const Tensor* bias) const {
  Require(x.rank() >= 3, "the input must have batch, channels and at least one spatial axis, it is {}", x);
  Require(weights.rank() == x.rank(), "the weights are {}, the input is {}", weights, x);
  Require(x[1] == CheckedMul(weights[1], group), "the input has {} channels, the weights take {} in {} groups", x[1],
          weights[1], group);
  Require(FitsGroups(weights), "{} output channels do not divide into {} groups", weights[0], group);
  Require(bias == nullptr || bias->shape() == Shape{weights[0]}, "the bias is {}, {} output channels need one each",
          OptionalShape{bias}, weights[0]);
  const auto kernel = weights.dims().subspan(2);
  Require(!window.has_kernel() || std::ranges::equal(window.kernel(), kernel), "kernel_shape is {}, the weights are {}",
          window.kernel(), weights);
}

Window ConvAttributes::Fit(const Shape& x, const Shape& weights, const Tensor* bias) const {
  Check(x, weights, bias);
  return window.Fit(x.dims().subspan(2), weights.dims().subspan(2));
}

Shape ConvAttributes::ResultShape(const Shape& x, const Shape& weights, const Window& window) {
  Shape shape{x[0], weights[0]};
  for (const int64_t dim : window.output) shape.Append(dim);
  return shape;
}

DeformConvAttributes::DeformConvAttributes(const Node& node)
    : conv(node), offset_group(AttributeOr<int64_t>(node, "offset_group", 1)) {
  Require(offset_group > 0, "attribute 'offset_group' is {}, which must be positive", offset_group);
}

Window DeformConvAttributes::Fit(const Shape& x, const Shape& weights, const Shape& offset, const Tensor* bias,
                                 const Tensor* mask) const {
  Require(x.rank() == 4 && weights.rank() == 4 && offset.rank() == 4,
          "input {}, weights {} and offset {} must have 4 dimensions", x, weights, offset);
  const Window window = conv.Fit(x, weights, bias);
  Require(x[1] % offset_group == 0 && x[1] > 0, "{} input channels do not divide into {} offset groups", x[1],
          offset_group);
  const int64_t positions = CheckedMul(offset_group, window.kernel.num_elements());
  const Shape wanted{x[0], CheckedMul(positions, int64_t{2}), window.output[0], window.output[1]};
  Require(offset == wanted, "the offset is {}, {} is expected", offset, wanted);
  const Shape wanted_mask{x[0], positions, window.output[0], window.output[1]};
  Require(mask == nullptr || mask->shape() == wanted_mask, "the mask is {}, {} is expected", OptionalShape{mask},
          wanted_mask);
  return window;
}

}  // namespace tessera
