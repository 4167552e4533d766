#pragma once

// MeanVarianceNormalization (9, 13).

#include <vector>

#include "tessera/provider/attributes.h"

namespace tessera {

struct MeanVarianceNormalizationAttributes {
  explicit MeanVarianceNormalizationAttributes(const Node& node)
      : axes(AttributeOr<std::vector<int64_t>>(node, "axes", {0, 2, 3})) {}

  std::vector<int64_t> axes;  // empty: all
};

}  // namespace tessera
