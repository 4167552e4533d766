#pragma once

// Reshape (1, 5, 13, 14, 19, 21, 23, 24, 25): the shape is an attribute before version 5, and an input from then on.

#include <span>
#include <vector>

#include "base/check.h"
#include "base/checked.h"
#include "tessera/provider/attributes.h"
#include "tessera/shape.h"

namespace tessera {

struct ReshapeAttributes {
  explicit ReshapeAttributes(const Node& node)
      : allow_zero(AttributeOr<int64_t>(node, "allowzero", 0) != 0),
        from_attribute(node.since_version < 5),
        shape(AttributeOr<std::vector<int64_t>>(node, "shape", {})) {}

  /// The result's shape: 0 copies the input's dimension unless it is allowed to be one, and one -1 takes what is left.
  /// Throws Error where the target is none; whether the other dimensions hold all elements remains to be seen.
  Shape Resolve(const Shape& input, std::span<const int64_t> target) const {
    Shape result(target);
    int64_t product = 1;
    size_t inferred = target.size();
    for (size_t i = 0; i < target.size(); ++i) {
      int64_t& dim = result[i];
      if (dim == -1) {
        Require(inferred == target.size(), "the new shape has more than one -1");
        inferred = i;
        continue;
      }
      if (dim == 0 && !allow_zero) {
        Require(i < input.rank(), "dimension {} of the new shape copies the input's, which has shape {}", i, input);
        dim = input[i];
      }
      Require(dim >= 0, "dimension {} of the new shape is {}", i, dim);
      product = CheckedMul(product, dim);
    }
    if (inferred == target.size()) return result;
    const int64_t count = input.num_elements();
    Require(product != 0 && count % product == 0,
            "{} elements of shape {} do not fill a shape whose other dimensions hold {}", count, input, product);
    result[inferred] = count / product;
    return result;
  }

  bool allow_zero;  // a 0 of the target is a size
  bool from_attribute;
  std::vector<int64_t> shape;
};

}  // namespace tessera
