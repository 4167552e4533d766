#pragma once

// LpNormalization (1, 22).

#include "base/check.h"
#include "tessera/provider/attributes.h"

namespace tessera {

struct LpNormalizationAttributes {
  explicit LpNormalizationAttributes(const Node& node)
      : axis(AttributeOr<int64_t>(node, "axis", -1)), p(AttributeOr<int64_t>(node, "p", 2)) {
    Require(p == 1 || p == 2, "p is {}, 1 or 2 is expected", p);
  }

  int64_t axis;
  int64_t p;
};

}  // namespace tessera
