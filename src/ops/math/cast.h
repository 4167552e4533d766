#pragma once

// Cast (6, 9, 13, 19, 21, 23, 24, 25, 28), CastLike (15, 19, 21, 23, 24, 25).

#include "tessera/provider/attributes.h"

namespace tessera {

struct CastAttributes {
  explicit CastAttributes(const Node& node) : saturate(AttributeOr<int64_t>(node, "saturate", 1) != 0) {}

  bool saturate;  // to floats of 8 bits
};

}  // namespace tessera
