#pragma once

// Sizes that no tensor has: models may declare any number, and inference may multiply them.

#include <algorithm>

#include "tessera/shape.h"
#include "tessera/type_info.h"

namespace tessera {

/// Forgets those sizes of a shape that make its known ones multiply, zeros aside, to more than a tensor may have. So
/// whoever multiplies sizes of one value need not look for overflow; a run that meets such sizes fails where their tensor
/// is made.
inline void ForgetImpossible(TypeInfo& type) {
  if (!type.is_tensor() || !type.shape) return;
  int64_t elements = 1;
  for (Dimension& dim : *type.shape) {
    const int64_t size = std::max<int64_t>(dim.value, 1);
    if (size <= Shape::kMostElements / elements) {
      elements *= size;
    } else {
      dim = Dimension();
    }
  }
}

}  // namespace tessera
