#include "kernels/gemm/quantized_rows.h"

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/quantized_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::ScalableTag<int32_t>;
using DF = hn::ScalableTag<float>;
using V32 = hn::Vec<D32>;

constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(int32_t));

/// Of the largest magnitude; as integers, what is not finite counts as largest.
HWY_INLINE float LargestOf(const float* HWY_RESTRICT in, int64_t k) {
  const DF df;
  const D32 d32;
  V32 bits = hn::Zero(d32);
  int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes) bits = hn::Max(bits, hn::BitCast(d32, hn::Abs(hn::LoadU(df, in + i))));
  int32_t most_bits = hn::GetLane(hn::MaxOfLanes(d32, bits));
  for (; i < k; ++i) most_bits = std::max(most_bits, std::bit_cast<int32_t>(std::abs(in[i])));
  return std::bit_cast<float>(most_bits);
}

/// Calls store(d, i, integers) for vectors, then for the rest one by one.
template <class Store>
HWY_INLINE QuantizedRow Quantize(const float* HWY_RESTRICT in, int64_t k, int32_t most, const Store& store) {
  const DF df;
  const D32 d32;
  const auto bound = static_cast<float>(most);
  const float scale = LargestOf(in, k) / bound;
  const float inverse = scale >= std::numeric_limits<float>::min() ? 1.0f / scale : 0.0f;
  const auto to_int = [&](auto d, auto value) HWY_ATTR {
    return hn::NearestInt(hn::Min(hn::Max(hn::Mul(value, hn::Set(d, inverse)), hn::Set(d, -bound)), hn::Set(d, bound)));
  };
  V32 sums = hn::Zero(d32);
  int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes) {
    const V32 quantized = to_int(df, hn::LoadU(df, in + i));
    sums = hn::Add(sums, quantized);
    store(d32, i, quantized);
  }
  int32_t sum = hn::GetLane(hn::SumOfLanes(d32, sums));
  const hn::FixedTag<float, 1> one;
  for (; i < k; ++i) {
    const auto quantized = to_int(one, hn::LoadU(one, in + i));
    store(hn::FixedTag<int32_t, 1>(), i, quantized);
    sum += hn::GetLane(quantized);
  }
  return {scale, static_cast<float>(sum)};
}

QuantizedRow ToPairs(const float* in, int64_t k, int32_t most, int16_t* HWY_RESTRICT out) {
  if (k % 2 != 0) out[k] = 0;
  return Quantize(in, k, most, [&](auto d, int64_t i, auto quantized) HWY_ATTR {
    const hn::Rebind<int16_t, decltype(d)> d16;
    hn::StoreU(hn::DemoteTo(d16, quantized), d16, out + i);
  });
}

QuantizedRow ToLimbs(const float* in, int64_t k, int32_t most, uint8_t* HWY_RESTRICT low, uint8_t* HWY_RESTRICT high) {
  for (int64_t i = k; i % 4 != 0; ++i) low[i] = high[i] = 0;
  return Quantize(in, k, most, [&](auto d, int64_t i, auto quantized) HWY_ATTR {
    const hn::Rebind<uint8_t, decltype(d)> d8;
    const auto more = hn::Add(quantized, hn::Set(d, kLimbOffset));
    hn::StoreU(hn::DemoteTo(d8, hn::And(more, hn::Set(d, 0xff))), d8, low + i);
    hn::StoreU(hn::DemoteTo(d8, hn::ShiftRight<8>(more)), d8, high + i);
  });
}

/// `high`: whether there are limbs.
template <bool kLimbs>
void AddScaledSums(const RowSums& sums, int64_t count, const QuantizedRow& row, const ColumnScales& columns,
                   float* HWY_RESTRICT out) {
  const auto add = [&](auto df, int64_t i) HWY_ATTR {
    const hn::Rebind<int32_t, decltype(df)> d32;
    const auto at = [&](const float* values, int64_t step)
                        HWY_ATTR { return step == 0 ? hn::Set(df, *values) : hn::LoadU(df, values + i); };
    auto whole = hn::LoadU(d32, sums.low + i);
    if constexpr (kLimbs) whole = hn::Add(whole, hn::ShiftLeft<8>(hn::LoadU(d32, sums.high + i)));
    auto sum = hn::ConvertTo(df, whole);
    if (columns.zeros != nullptr) sum = hn::NegMulAdd(at(columns.zeros, columns.zero_step), hn::Set(df, row.sum), sum);
    const auto factor = hn::Mul(at(columns.scales, columns.scale_step), hn::Set(df, row.scale));
    hn::StoreU(hn::MulAdd(sum, factor, hn::LoadU(df, out + i)), df, out + i);
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) add(DF(), i);
  for (; i < count; ++i) add(hn::FixedTag<float, 1>(), i);
}

void AddSums(const RowSums& sums, int64_t count, const QuantizedRow& row, const ColumnScales& columns, float* out) {
  sums.high == nullptr ? AddScaledSums<false>(sums, count, row, columns, out)
                       : AddScaledSums<true>(sums, count, row, columns, out);
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(ToPairs);
HWY_EXPORT(ToLimbs);
HWY_EXPORT(AddSums);

QuantizedRow QuantizeToPairs(const float* in, int64_t k, int32_t most, int16_t* out) {
  return HWY_DYNAMIC_DISPATCH(ToPairs)(in, k, most, out);
}

QuantizedRow QuantizeToLimbs(const float* in, int64_t k, int32_t most, uint8_t* low, uint8_t* high) {
  return HWY_DYNAMIC_DISPATCH(ToLimbs)(in, k, most, low, high);
}

void AddScaled(const RowSums& sums, int64_t count, const QuantizedRow& row, const ColumnScales& columns, float* out) {
  HWY_DYNAMIC_DISPATCH(AddSums)(sums, count, row, columns, out);
}

}  // namespace tessera::cpu
#endif
