#include "ops/nn/max_unpool.h"

#include <vector>

#include "base/checked.h"
#include "ops/nn/window.h"
#include "tessera/provider/attributes.h"

namespace tessera {

Unpooling::Unpooling(const Node& node)
    : kernel_(PositiveAttribute(node, "kernel_shape")),
      strides_(PositiveAttribute(node, "strides")),
      pads_(AttributeOr(node, "pads", std::vector<int64_t>{})) {}

Shape Unpooling::Pooled(const Shape& input) const {
  const size_t rank = kernel_.rank();
  Require(input.rank() == rank + 2, "kernel_shape has {} axes, the input is {}", rank, input);
  Require(strides_.rank() == 0 || strides_.rank() == rank, "attribute 'strides' has {} values, {} are expected",
          strides_.rank(), rank);
  Require(pads_.rank() == 0 || pads_.rank() == 2 * rank, "attribute 'pads' has {} values, {} are expected", pads_.rank(),
          2 * rank);
  Shape shape = input;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t stride = strides_.rank() == 0 ? 1 : strides_[i];
    const int64_t pads = pads_.rank() == 0 ? 0 : CheckedAdd(pads_[i], pads_[rank + i]);
    const int64_t size = CheckedAdd(CheckedMul(input[i + 2] - 1, stride), kernel_[i]);
    Require(pads >= 0 && size >= pads, "spatial axis {} would have {} elements", i, size - pads);
    shape[i + 2] = size - pads;
  }
  return shape;
}

Shape CheckUnpooled(const Shape& wanted, const Shape& pooled) {
  Require(wanted.rank() == pooled.rank(), "output_shape has {} values, {} are expected", wanted.rank(), pooled.rank());
  for (const int64_t dim : wanted) Require(dim >= 0, "output_shape holds {}", dim);
  return wanted;
}

int64_t UnpooledIndices::Translate(int64_t index) const {
  int64_t place = 0, stride = 1;
  for (size_t i = pooled_.rank(); i-- > 0;) {
    const int64_t coordinate = index % pooled_[i];
    if (coordinate >= result_[i]) return -1;
    place += coordinate * stride;
    stride *= result_[i];
    index /= pooled_[i];
  }
  return place;
}

}  // namespace tessera
