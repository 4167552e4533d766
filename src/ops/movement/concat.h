#pragma once

// Concat (1, 4, 11, 13).

#include "base/check.h"
#include "base/checked.h"
#include "ops/axis.h"
#include "tessera/provider/attributes.h"
#include "tessera/shape.h"

namespace tessera {

struct ConcatAttributes {
  /// Later versions require the axis.
  explicit ConcatAttributes(const Node& node) : axis(AttributeOr<int64_t>(node, "axis", 1)) {}

  /// Adds the extent of another input to `joined`. Throws Error where the two differ in another dimension.
  static void Join(Shape& joined, const Shape& input, size_t at) {
    bool fits = input.rank() == joined.rank();
    for (size_t i = 0; fits && i < input.rank(); ++i) fits = i == at || input[i] == joined[i];
    Require(fits, "an input has shape {}, which does not fit {} along axis {}", input, joined, at);
    joined[at] = CheckedAdd(joined[at], input[at]);
  }

  int64_t axis;
};

}  // namespace tessera
