#pragma once

// How operators of two inputs broadcast before version 7: Add, Sub, Mul, Div, Pow, And, Or, Xor, Equal, Greater, Less.

#include <optional>

#include "tessera/provider/attributes.h"

namespace tessera {

struct LegacyBroadcastAttributes {
  explicit LegacyBroadcastAttributes(const Node& node) : broadcasts(AttributeOr<int64_t>(node, "broadcast", 0) != 0) {
    if (const auto* given = FindTyped<int64_t>(node, "axis")) axis = *given;
  }

  bool broadcasts;              // else both inputs have one shape
  std::optional<int64_t> axis;  // of the first input, where the second's dimensions begin; else they are the last ones
};

}  // namespace tessera
