// GEMM of rows of limbs and bytes by dot products, which become floats before they leave the registers.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/limb_gemm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "base/cancellation.h"
#include "kernels/gemm/dot-inl.h"
#include "kernels/gemm/gemm_u8s8-inl.h"
#include "kernels/gemm/quantized_rows.h"
#include "kernels/vector/load_first-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kMostRows = HWY_TARGET == HWY_AVX3 ? 4 : 2;  // sums of both limbs stay in registers

/// Columns of a panel.
struct Panel {
  const uint8_t* weights;
  int64_t groups;
  const int32_t* terms;
  ColumnScales columns;
  int64_t width;
};

HWY_INLINE hn::Vec<DF> ValuesAt(const float* values, int64_t step, int64_t at, int64_t count) {
  const DF df;
  if (step == 0) return hn::Set(df, *values);
  return count >= kLanes ? hn::LoadU(df, values + at) : LoadFirst(df, values + at, count);
}

HWY_INLINE void AddTo(float* out, hn::Vec<DF> sum, hn::Vec<DF> factor, int64_t count) {
  const DF df;
  if (HWY_LIKELY(count >= kLanes)) return hn::StoreU(hn::MulAdd(sum, factor, hn::LoadU(df, out)), df, out);
  StoreFirst(df, hn::MulAdd(sum, factor, LoadFirst(df, out, count)), out, count);
}

template <int R>
void AddRows(const Panel& panel, const LimbRows& rows, int64_t r0, float* out, int64_t out_row) {
  const D8 d8;
  const D32 d32;
  const DF df;
  const DotProduct product;
  V32 low[R][2], high[R][2];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) low[r][j] = high[r][j] = hn::LoadU(d32, panel.terms + j * kLanes);
  }
  const uint8_t *lows = rows.low + r0 * rows.row, *highs = rows.high + r0 * rows.row, *weights = panel.weights;
  for (int64_t g = 0; g < panel.groups; ++g, lows += 4, highs += 4, weights += kRecord) {
    const V8 b0 = hn::LoadU(d8, weights), b1 = hn::LoadU(d8, weights + 4 * kLanes);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const V8 a = Broadcast(lows + r * rows.row), c = Broadcast(highs + r * rows.row);
      low[r][0] = product.Add(low[r][0], a, b0);
      low[r][1] = product.Add(low[r][1], a, b1);
      high[r][0] = product.Add(high[r][0], c, b0);
      high[r][1] = product.Add(high[r][1], c, b1);
    }
  }
  const ColumnScales& columns = panel.columns;
#pragma GCC unroll 2
  for (int64_t j = 0; j < 2; ++j) {
    const int64_t at = j * kLanes, count = panel.width - at;
    if (count <= 0) return;
    const auto scales = ValuesAt(columns.scales, columns.scale_step, at, count),
               zeros = columns.zeros == nullptr ? hn::Zero(df) : ValuesAt(columns.zeros, columns.zero_step, at, count);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const QuantizedRow& row = rows.quantized[r0 + r];
      auto sum = hn::ConvertTo(df, hn::Add(low[r][j], hn::ShiftLeft<8>(high[r][j])));
      if (columns.zeros != nullptr) sum = hn::NegMulAdd(zeros, hn::Set(df, row.sum), sum);
      AddTo(out + (r0 + r) * out_row + at, sum, hn::Mul(scales, hn::Set(df, row.scale)), count);
    }
  }
}

void AddGemm(const PackedWeightsS8& weights, const int32_t* terms, const LimbRows& rows, const ColumnScales& columns,
             int64_t b0, int64_t b1, float* out, int64_t out_row) {
  constexpr void (*kRows[])(const Panel&, const LimbRows&, int64_t, float*, int64_t) = {AddRows<1>, AddRows<2>, AddRows<3>,
                                                                                        AddRows<4>};
  for (int64_t b = b0; b < b1; ++b) {
    CancellationPoint();
    const int64_t n = b * kWidth;
    const Panel panel{Bytes(weights.values) + b * weights.block_bytes,
                      weights.groups(),
                      terms + n,
                      {columns.scales + n * columns.scale_step, columns.scale_step,
                       columns.zeros == nullptr ? nullptr : columns.zeros + n * columns.zero_step, columns.zero_step},
                      std::min<int64_t>(weights.n - n, kWidth)};
    for (int64_t r = 0; r < rows.count; r += kMostRows)
      kRows[std::min(kMostRows, rows.count - r) - 1](panel, rows, r, out + n, out_row);
  }
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(AddGemm);

void AddLimbGemm(const PackedWeightsS8& weights, const int32_t* terms, const LimbRows& rows, const ColumnScales& columns,
                 int64_t b0, int64_t b1, float* out, int64_t out_row) {
  HWY_DYNAMIC_DISPATCH(AddGemm)(weights, terms, rows, columns, b0, b1, out, out_row);
}

}  // namespace tessera::cpu
#endif
