#pragma once

// EyeLike (9, 22): ones on one diagonal of a matrix.

#include "base/check.h"
#include "ops/movement/trilu.h"
#include "tessera/provider/attributes.h"

namespace tessera {

struct EyeLikeAttributes {
  explicit EyeLikeAttributes(const Node& node) : k(AttributeOr<int64_t>(node, "k", 0)) {}

  /// Throws Error where x is no matrix.
  DiagonalOfMatrix Diagonal(const Shape& x) const {
    Require(x.rank() == 2, "the input has shape {}, expected a matrix", x);
    return DiagonalOfMatrix(x, k);
  }

  int64_t k;
};

}  // namespace tessera
