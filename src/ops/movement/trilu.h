#pragma once

// Trilu (14): the upper or lower triangle of each matrix.

#include <algorithm>

#include "base/check.h"
#include "ops/integer_list.h"
#include "tessera/provider/attributes.h"

namespace tessera {

/// The last two dimensions. Diagonal k lies k columns right of the main one; beyond the corners there are no others.
struct DiagonalOfMatrix {
  DiagonalOfMatrix(const Shape& x, int64_t k_given)
      : rows(x[x.rank() - 2]), columns(x.back()), k(std::clamp(k_given, -rows, columns)) {}

  int64_t rows, columns, k;
};

struct TriluAttributes {
  explicit TriluAttributes(const Node& node) : upper(AttributeOr<int64_t>(node, "upper", 1) != 0) {}

  /// `k`, in host memory, may be null. Throws Error where x has no matrices.
  static DiagonalOfMatrix Diagonal(const Shape& x, const Tensor* k) {
    Require(x.rank() >= 2, "the input has shape {}, expected at least two dimensions", x);
    return DiagonalOfMatrix(x, k == nullptr ? 0 : ScalarInteger(*k, "k"));
  }

  bool upper;
};

}  // namespace tessera
