#pragma once

// BitShift (11).

#include <string>

#include "base/check.h"
#include "tessera/provider/attributes.h"

namespace tessera {

struct BitShiftAttributes {
  explicit BitShiftAttributes(const Node& node) {
    const auto direction = AttributeOr<std::string>(node, "direction", "");
    Require(direction == "LEFT" || direction == "RIGHT", "attribute 'direction' is '{}', expected LEFT or RIGHT",
            direction);
    left = direction == "LEFT";
  }

  bool left;
};

}  // namespace tessera
