#pragma once

// How many rows of tiles a block of a Winograd convolution has.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/rounding.h"

namespace tessera::cpu {

/// Of 1 to `most` rows of tiles a block, the number that takes the least time, the larger of equals. `images` of `rows`
/// rows each are cut into blocks, the last of an image perhaps smaller, which `threads` share; a block takes cost(its
/// rows), in any unit.
template <class Cost>
int64_t RowsOfLeastCost(int64_t images, int64_t rows, int64_t most, int64_t threads, const Cost& cost) {
  int64_t best = 1;
  int64_t best_cost = std::numeric_limits<int64_t>::max();
  for (int64_t count = 1; count <= std::min(most, rows); ++count) {
    const int64_t blocks = images * CeilDiv(rows, count);
    const int64_t all = CeilDiv(blocks, threads) * cost(count);
    if (all > best_cost) continue;
    best = count;
    best_cost = all;
  }
  return best;
}

}  // namespace tessera::cpu
