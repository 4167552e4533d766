#pragma once

#include <algorithm>

#include "base/rounding.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {

/// Where rows of `count` elements lie: what is kept has a row for each index, what is reduced its elements.
struct RowLayout {
  /// Rows one after the other.
  static RowLayout Contiguous(int64_t rows, int64_t count) { return Lines(rows, count, 1); }
  /// Lines of elements that are `stride` apart; line l starts at (l / stride) * count * stride + l % stride.
  static RowLayout Lines(int64_t rows, int64_t count, int64_t stride);
  /// The elements of a row share those dimensions for which `reduces` is 0.
  static RowLayout Reducing(const Shape& shape, const Shape& reduces);

  Strided kept, reduced;
  int64_t rows = 1, count = 1;
};

/// A long row in slices of at least so many elements: so many that to join them takes no longer than a slice.
template <int64_t kShortest>
struct Slices {
  /// Whether a row is long enough for several.
  static bool Pay(int64_t row) { return row >= 4 * kShortest; }

  explicit Slices(int64_t row) : length(std::max(kShortest, CeilDiv(row, kShortest))), count(CeilDiv(row, length)) {}

  int64_t length, count;
};

/// Of groups of work items.
using RowSlices = Slices<16384>;

}  // namespace tessera::opencl
