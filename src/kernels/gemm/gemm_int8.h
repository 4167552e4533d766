#pragma once

// GEMM of 8-bit integers with 32-bit accumulators. Operands are widened to 16 bits with zero points already subtracted,
// and k advances by two (multiply-add of pairs): exact, whatever the signs.

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/gemm.h"

namespace tessera::cpu {

constexpr int64_t Pairs(int64_t k) { return (k + 1) / 2; }

/// Columns of a panel of B.
int64_t Int8PanelWidth();

/// out[i] = in[i] - zero_point for `rows` rows of A, each padded to whole pairs. `zero_point` advances by
/// zero_point_step per row.
void WidenRows(const void* in, bool is_signed, int64_t rows, int64_t k, int64_t row_stride, const int32_t* zero_points,
               int64_t zero_point_step, int16_t* out);

/// Rows [0, kc) of a panel, `in` rows in_stride apart, as interleaved pairs: out[pair][column][2].
void InterleavePairs(const uint8_t* in, bool is_signed, int64_t in_stride, int64_t kc, int64_t width,
                     const int32_t* zero_points, int64_t zero_point_step, int16_t* out);

/// Elements of a packed B.
size_t PackedInt8Size(int64_t k, int64_t n);
void PackInt8(ThreadPool& threads, int64_t k, int64_t n, const GemmPanelSource<int16_t>& source, int16_t* packed);
/// PanelType::kInt8: the same of a row-major B in half the memory, which is widened as it is read: without zero points,
/// unsigned bytes less 128.
void PackNarrowInt8(ThreadPool& threads, int64_t k, int64_t n, const uint8_t* b, bool is_signed, int8_t* packed);

/// out[i] = saturate(round(in[i] * scale) + zero_point); `scales` advances by scale_step.
void RequantizeRow(const int32_t* in, int64_t count, const float* scales, int64_t scale_step, int32_t zero_point,
                   bool is_signed, void* out);

}  // namespace tessera::cpu
