#pragma once

// One row of a pooling's output: input rows are combined element by element, then windows along the row.

#include <cstdint>

namespace tessera::cpu {

enum class PoolKind : uint8_t { kMax, kSum, kSumOfAbs, kSumOfSquares };

template <class T>
struct PoolRow {
  PoolKind kind;
  const T* const* rows;  // input rows under the window
  int64_t row_count;
  int64_t width;   // of an input row
  int64_t output;  // of the output row
  int64_t kernel;
  int64_t stride;
  int64_t dilation;
  int64_t pad;  // before the row
  T* buffer;    // PoolBufferSize() elements
  T* out;
};

/// Elements that `buffer` needs: the padded row and one vector more.
inline int64_t PoolBufferSize(int64_t output, int64_t extent, int64_t stride, int64_t pad, int64_t width) {
  const int64_t span = (output - 1) * stride + extent;
  return (span > pad + width ? span : pad + width) + 192;
}

/// T: float, double, uint8_t, int8_t; the integers only with kMax.
template <class T>
void ComputePoolRow(const PoolRow<T>& row);

/// Maximum or sum over a whole row; T is float or double.
template <class T>
T ReducePoolRow(PoolKind kind, const T* in, int64_t count);

template <>
float ReducePoolRow<float>(PoolKind, const float*, int64_t);
template <>
double ReducePoolRow<double>(PoolKind, const double*, int64_t);
extern template void ComputePoolRow<float>(const PoolRow<float>&);
extern template void ComputePoolRow<double>(const PoolRow<double>&);
extern template void ComputePoolRow<uint8_t>(const PoolRow<uint8_t>&);
extern template void ComputePoolRow<int8_t>(const PoolRow<int8_t>&);

}  // namespace tessera::cpu
