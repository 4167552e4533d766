#pragma once

// AffineGrid (20): the points that GridSample reads, of images and of volumes.

#include "base/check.h"
#include "tessera/provider/attributes.h"
#include "tessera/value.h"

namespace tessera {

struct AffineGridAttributes {
  explicit AffineGridAttributes(const Node& node) : align_corners(AttributeOr<int64_t>(node, "align_corners", 0) != 0) {}

  /// [N, (D,) H, W, axes] for images of `size`, which is [N, C, (D,) H, W] and in host memory. Throws Error unless theta is
  /// a matrix [axes, axes + 1] for each image.
  static Shape ResultShape(const Shape& theta, const Tensor& size) {
    Require(
        size.is(ElementType::kInt64) && size.shape().rank() == 1 && (size.num_elements() == 4 || size.num_elements() == 5),
        "size is {}, 4 or 5 numbers are expected", size.shape());
    const auto dims = size.values<int64_t>();
    for (const int64_t dim : dims) Require(dim >= 0, "size {} is negative", dim);
    const auto axes = static_cast<int64_t>(dims.size()) - 2;
    const Shape expected{dims[0], axes, axes + 1};
    Require(theta == expected, "theta is {}, {} is expected", theta, expected);
    Shape result{dims[0]};
    for (const int64_t dim : dims.subspan(2)) result.Append(dim);
    result.Append(axes);
    return result;
  }

  bool align_corners;  // -1 and 1 are the centres of the outermost pixels, else their outer edges
};

}  // namespace tessera
