#pragma once

// com.microsoft SkipLayerNormalization, SkipSimplifiedLayerNormalization (1).

#include <algorithm>

#include "base/check.h"
#include "tessera/provider/attributes.h"
#include "tessera/shape.h"

namespace tessera {

struct SkipLayerNormalizationAttributes {
  explicit SkipLayerNormalizationAttributes(const Node& node)
      : epsilon(AttributeOr<float>(node, "epsilon", 1e-12f)), centers(node.op_type == "SkipLayerNormalization") {}

  /// Inputs are x, skip, gamma, then beta where the mean is taken off, then bias.
  size_t bias_input() const noexcept { return centers ? 4 : 3; }

  float epsilon;
  bool centers;
};

struct SkipLayerNormalizationSizes {
  SkipLayerNormalizationSizes(const Shape& x, const Shape& skip) {
    const size_t rank = x.rank(), skipped = rank - std::min(rank, skip.rank());
    Require(rank == 2 || rank == 3, "the input is {}; 2 or 3 dimensions are expected", x);
    const bool fits = skip.rank() >= 2 && skip.rank() <= rank &&
                      std::equal(skip.begin() + 1, skip.end(), x.begin() + skipped + 1) &&
                      (skip[0] == x[skipped] || (rank == 3 && skip.rank() == 3 && skip[0] == 1));
    Require(fits, "skip is {} for an input {}", skip, x);
    width = x.back();
    rows = x.SizeOfRange(0, rank - 1);
    skip_rows = std::max<int64_t>(skip.SizeOfRange(0, skip.rank() - 1), 1);
    statistics = x;
    statistics[rank - 1] = 1;
  }

  int64_t width, rows;
  int64_t skip_rows;  // of the residual; they repeat
  Shape statistics;   // the shape of mean and inverse deviation
};

}  // namespace tessera
