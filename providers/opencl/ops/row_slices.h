#pragma once

#include <algorithm>

#include "base/rounding.h"

namespace tessera::opencl {

/// A long row in slices, a group of work items each: so many that to join them takes no longer than a slice.
struct RowSlices {
  static constexpr int64_t kShortest = 16384;

  /// Whether a row is long enough for several groups.
  static bool Pay(int64_t row) { return row >= 4 * kShortest; }

  explicit RowSlices(int64_t row) : length(std::max(kShortest, CeilDiv(row, kShortest))), count(CeilDiv(row, length)) {}

  int64_t length, count;
};

}  // namespace tessera::opencl
