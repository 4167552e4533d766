#pragma once

#include "tessera/shape.h"

namespace tessera {

/// Whether a normalization's scale or shift has one number for each position of `x` from `axis` on, whatever the symbols
/// stand for: none that broadcasts.
inline bool IsOfRow(const SymbolicShape& x, size_t axis, const SymbolicShape& parameter) {
  const size_t rank = x.size() - axis;
  if (parameter.size() < rank) return false;
  const size_t extra = parameter.size() - rank;
  for (size_t i = 0; i < parameter.size(); ++i) {
    const Dimension& own = parameter[i];
    if (i < extra) {
      if (own.value != 1) return false;
      continue;
    }
    const Dimension& of_x = x[axis + i - extra];
    // What is neither 1 nor the input's own size fits no input.
    const bool same = of_x.known() && own.known() ? of_x.value == own.value
                                                  : (own.known() && own.value > 1) || (!own.symbol.empty() && own == of_x);
    if (!same) return false;
  }
  return true;
}

}  // namespace tessera
