#pragma once

// Rows of a pooling's output: input rows are combined element by element, then windows along the row.

#include <algorithm>
#include <cstdint>

namespace tessera::cpu {

enum class PoolKind : uint8_t { kMax, kSum, kSumOfAbs, kSumOfSquares };

/// What happens to a window's result: a kSum may be divided, a kSumOfSquares have its root taken.
enum class PoolFinish : uint8_t { kNone, kDivide, kSquareRoot };

/// What the rows of a pooling have in common: the geometry along them.
template <class T>
struct PoolAlong {
  PoolKind kind;
  PoolFinish finish;
  int64_t width;   // of an input row
  int64_t output;  // of an output row, not 0
  int64_t kernel;
  int64_t stride;
  int64_t dilation;
  int64_t pad;      // before the row
  const T* counts;  // kDivide: PoolCountsSize() of them, what each window counts along the row
};

/// One row of output.
template <class T>
struct PoolRow {
  const T* const* rows;  // input rows under the windows
  int64_t row_count;
  T count;  // kDivide: times the column's count, and at least 1
};

/// Output columns that are worked on at a time: what is kept between the two passes stays in L1. Fewer where windows are
/// longer than rows: each sees little of what the others see.
template <class T>
int64_t PoolBlock(const PoolAlong<T>& along) {
  constexpr int64_t kMost = 1024, kFewest = 64;
  const bool longer = (along.kernel - 1) * along.dilation >= along.width;
  return std::min(along.output, longer ? std::clamp(along.width, kFewest, kMost) : kMost);
}
/// Rows that are between the two passes at a time, so that none is read back too soon after it was written.
inline constexpr int64_t kPoolDepth = 4;
inline constexpr int64_t kPoolBufferRows = kPoolDepth + 2;  // and the divisors of full windows and of cut ones
/// Vectors may run past the end of a row.
inline constexpr int64_t kPoolSlack = 192;

inline int64_t PoolCountsSize(int64_t output) { return output + 64; }

/// Elements of one row in the buffer: what the outputs of a block see, of windows however large.
template <class T>
int64_t PoolBufferRow(const PoolAlong<T>& along) {
  const int64_t last = (PoolBlock(along) - 1) * along.stride;
  return last + std::min((along.kernel - 1) * along.dilation + 1, last + along.width + 1) + kPoolSlack;
}

/// T: float, double, uint8_t, int8_t; the integers only with kMax and kNone. `buffer` has kPoolBufferRows * PoolBufferRow()
/// elements. The results are stored row after row at `out`.
template <class T>
void ComputePoolRows(const PoolAlong<T>& along, const PoolRow<T>* rows, int64_t count, T* buffer, T* out);

/// Small planes, whose windows are combined in one pass over a padded copy. Sizes are [rows, columns].
template <class T>
struct SmallPlanes {
  PoolKind kind;
  PoolFinish finish;
  int64_t input[2];
  int64_t output[2];
  int64_t kernel[2];
  int64_t strides[2];  // along columns 1, 2, or 3 with a kernel of three
  int64_t dilations[2];
  int64_t pads[2];
  int64_t padded[2];  // what the windows span
  const T* scales;    // kDivide: one over each window's count, and kPoolSlack more
};
/// Pools `count` planes, one after the other. `buffer` has the padded plane's elements and kPoolSlack more.
template <class T>
void PoolSmallPlanes(const SmallPlanes<T>& planes, int64_t count, const T* in, T* buffer, T* out);

/// The maximum, element by element, of `count` slices of `size` elements.
void MaxOfSlices(const float* const* slices, int64_t count, int64_t size, float* to);

/// Maximum or sum over a whole row; T is float or double.
template <class T>
T ReducePoolRow(PoolKind kind, const T* in, int64_t count);

template <>
float ReducePoolRow<float>(PoolKind, const float*, int64_t);
template <>
double ReducePoolRow<double>(PoolKind, const double*, int64_t);
extern template void PoolSmallPlanes<float>(const SmallPlanes<float>&, int64_t, const float*, float*, float*);
extern template void PoolSmallPlanes<double>(const SmallPlanes<double>&, int64_t, const double*, double*, double*);
extern template void PoolSmallPlanes<uint8_t>(const SmallPlanes<uint8_t>&, int64_t, const uint8_t*, uint8_t*, uint8_t*);
extern template void PoolSmallPlanes<int8_t>(const SmallPlanes<int8_t>&, int64_t, const int8_t*, int8_t*, int8_t*);
extern template void ComputePoolRows<float>(const PoolAlong<float>&, const PoolRow<float>*, int64_t, float*, float*);
extern template void ComputePoolRows<double>(const PoolAlong<double>&, const PoolRow<double>*, int64_t, double*, double*);
extern template void ComputePoolRows<uint8_t>(const PoolAlong<uint8_t>&, const PoolRow<uint8_t>*, int64_t, uint8_t*,
                                              uint8_t*);
extern template void ComputePoolRows<int8_t>(const PoolAlong<int8_t>&, const PoolRow<int8_t>*, int64_t, int8_t*, int8_t*);

}  // namespace tessera::cpu
