#pragma once

// Mod (10, 13).

#include "base/check.h"
#include "tessera/provider/attributes.h"

namespace tessera {

struct ModAttributes {
  explicit ModAttributes(const Node& node) {
    const auto fmod = AttributeOr<int64_t>(node, "fmod", 0);
    Require(fmod == 0 || fmod == 1, "attribute 'fmod' is {}, expected 0 or 1", fmod);
    truncates = fmod == 1;
  }

  bool truncates;  // the remainder has the dividend's sign, else the divisor's
};

}  // namespace tessera
