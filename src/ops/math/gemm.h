#pragma once

// Gemm (1, 6, 7, 9, 11, 13): alpha * A' * B' + beta * C; com.microsoft FusedMatMul and its older name TransposeMatMul (1):
// alpha times numpy.matmul of operands that are transposed as they are read.

#include <utility>

#include "base/check.h"
#include "tessera/provider/attributes.h"
#include "tessera/shape.h"

namespace tessera {

struct GemmSizes {
  int64_t m, n, k;
};

struct GemmAttributes {
  explicit GemmAttributes(const Node& node)
      : alpha(AttributeOr<float>(node, "alpha", 1.0f)),
        beta(AttributeOr<float>(node, "beta", 1.0f)),
        trans_a(AttributeOr<int64_t>(node, "transA", 0) != 0),
        trans_b(AttributeOr<int64_t>(node, "transB", 0) != 0) {}

  /// Throws Error where the shapes do not fit.
  GemmSizes Infer(const Shape& a, const Shape& b) const {
    Require(a.rank() == 2 && b.rank() == 2, "A is {} and B is {}; both must be matrices", a, b);
    const GemmSizes sizes{a[trans_a ? 1 : 0], b[trans_b ? 0 : 1], a[trans_a ? 0 : 1]};
    Require(sizes.k == b[trans_b ? 1 : 0], "K is {} in A {} and {} in B {}", sizes.k, a, b[trans_b ? 1 : 0], b);
    return sizes;
  }

  float alpha, beta;
  bool trans_a, trans_b;
};

/// Steps through C (0, 1 or its width) for a [m, n] result.
struct GemmAddend {
  int64_t row = 0;
  int64_t column = 0;
};

inline GemmAddend BroadcastAddend(const Shape& c, int64_t m, int64_t n) {
  const bool fits =
      c.rank() <= 2 && (c.rank() < 1 || c.back() == n || c.back() == 1) && (c.rank() < 2 || c[0] == m || c[0] == 1);
  Require(fits, "C {} does not broadcast to [{},{}]", c, m, n);
  const int64_t width = c.rank() == 0 ? 1 : c.back();
  return {c.rank() == 2 && c[0] != 1 ? width : 0, width == 1 ? 0 : 1};
}

struct FusedMatMulAttributes {
  explicit FusedMatMulAttributes(const Node& node) : alpha(AttributeOr<float>(node, "alpha", 1.0f)) {
    const auto flag = [&](const char* name) { return AttributeOr<int64_t>(node, name, 0) != 0; };
    a = {flag("transA"), flag("transBatchA")};
    b = {flag("transB"), flag("transBatchB")};
  }

  struct Operand {
    /// [rows, batch..., columns] becomes [batch..., rows, columns], whose last axes then change places: of a shape, or of
    /// strides.
    template <class Dims>
    void Arrange(Dims& dims, size_t rank) const {
      for (size_t i = 0; batch_first && i + 2 < rank; ++i) std::swap(dims[i], dims[i + 1]);
      if (transposed && rank > 1) std::swap(dims[rank - 2], dims[rank - 1]);
    }

    bool transposed, batch_first;
  };

  float alpha;
  Operand a, b;
};

}  // namespace tessera
