#pragma once

// IsInf (10, 20).

#include "tessera/provider/attributes.h"

namespace tessera {

struct IsInfAttributes {
  explicit IsInfAttributes(const Node& node)
      : negative(AttributeOr<int64_t>(node, "detect_negative", 1) != 0),
        positive(AttributeOr<int64_t>(node, "detect_positive", 1) != 0) {}

  bool negative, positive;  // which infinities count
};

}  // namespace tessera
