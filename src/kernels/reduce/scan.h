#pragma once

// Running totals down columns.

#include <cstdint>

namespace tessera::cpu {

/// Columns that share one call at most: their totals stay in the first-level cache.
inline constexpr int64_t kScanColumns = 2048;

struct ScanArguments {
  int64_t count;    // rows
  int64_t stride;   // from one row to the next one in memory, in elements
  int64_t columns;  // <= kScanColumns
  int64_t step;     // 1, or -1 to begin at the last row
  bool exclusive;
};

/// y[i] = the sum (or product) of x[0 .. i], per column; `y` may be `x`. T: float, double, uint32_t, uint64_t.
template <class T>
using ScanColumns = void (*)(const T* x, T* y, const ScanArguments& arguments);
template <class T>
ScanColumns<T> ScanColumnsOf(bool product);

}  // namespace tessera::cpu
