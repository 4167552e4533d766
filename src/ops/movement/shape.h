#pragma once

// Shape (1, 13, 15, 19, 21, 23, 24, 25): from version 15 on, of dimensions [start, end).

#include <algorithm>
#include <limits>
#include <utility>

#include "tessera/provider/attributes.h"

namespace tessera {

struct ShapeAttributes {
  explicit ShapeAttributes(const Node& node)
      : start(AttributeOr<int64_t>(node, "start", 0)),
        end(AttributeOr<int64_t>(node, "end", std::numeric_limits<int64_t>::max())) {}

  /// The first dimension that is told of so many, and the one behind the last.
  std::pair<size_t, size_t> Range(size_t rank) const {
    const auto r = static_cast<int64_t>(rank);
    const auto clamped = [r](int64_t at) { return static_cast<size_t>(std::clamp<int64_t>(at < 0 ? at + r : at, 0, r)); };
    return {clamped(start), std::max(clamped(start), clamped(end))};
  }

  int64_t start, end;  // negative ones count from the last
};

}  // namespace tessera
