#pragma once

// Clip (1, 6, 11, 12, 13): bounds are attributes before version 11, and inputs from then on.

#include <limits>
#include <optional>

#include "tessera/provider/attributes.h"

namespace tessera {

struct ClipAttributes {
  /// An attribute that is not given is no bound in version 1, and the end of float's range from version 6 on.
  explicit ClipAttributes(const Node& node) : from_attributes(node.since_version < 11) {
    if (!from_attributes) return;
    if (node.since_version >= 6) {
      low = std::numeric_limits<float>::lowest();
      high = std::numeric_limits<float>::max();
    }
    if (const auto* given = FindTyped<float>(node, "min")) low = *given;
    if (const auto* given = FindTyped<float>(node, "max")) high = *given;
  }

  bool from_attributes;
  std::optional<float> low, high;  // of attributes
};

}  // namespace tessera
