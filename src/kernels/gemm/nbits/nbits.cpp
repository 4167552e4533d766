// GEMM with weights of 2, 4 or 8 bits.

#include "base/rounding.h"
#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/nbits/nbits.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "kernels/gemm/nbits/blocks-inl.h"
#include "kernels/vector/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
/// A vector of quantized values: each lane holds four bytes, and no block is smaller.
constexpr int64_t kVectorBytes = 4 * kLanes;

/// Quantized values are not shifted within their lane: the one at bit b counts 2^b times, which the arranged row of A makes
/// up for. That spares a shift for each value but the topmost.
template <int kBits>
inline constexpr int kPlanes = 32 / kBits;
template <int kBits>
inline constexpr int64_t kVectorWeights = kVectorBytes * 8 / kBits;

/// Of an arranged row: what multiplies a vector of quantized values, after each lane's share of the zero points.
template <int kBits>
inline constexpr int64_t kStep = kLanes + kVectorWeights<kBits>;

/// Floats of an arranged row: whole vectors of quantized values.
int64_t ArrangedSize(const NBitsWeights& w) {
  const int64_t vectors = CeilDiv(w.blocks * w.block_bytes(), kVectorBytes);
  return vectors * (kLanes + kVectorBytes * 8 / w.bits);
}

template <int kBits>
void Arrange(const NBitsWeights& w, const float* a, float* arranged, float* sums) {
  constexpr int64_t kLaneWeights = 32 / kBits;
  // What all weights have in common A's arrangement allows for.
  const float zero = w.has_common_zero() ? static_cast<float>(w.common_zero) : 0.0f;
  const float* end = arranged + ArrangedSize(w);
  for (int64_t k0 = 0; arranged < end; k0 += kVectorWeights<kBits>, arranged += kStep<kBits>) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float* from = a + k0 + lane * kLaneWeights;
      const int64_t count = std::clamp<int64_t>(w.k - k0 - lane * kLaneWeights, 0, kLaneWeights);
      float sum = 0;
      for (int64_t e = 0; e < kLaneWeights; ++e) {
        const float value = e < count ? from[e] : 0.0f;
        sum += value;
        const bool shifted = e == kLaneWeights - 1;
        arranged[(e + 1) * kLanes + lane] = value * (shifted ? 1.0f : 1.0f / static_cast<float>(1 << (e * kBits)));
      }
      arranged[lane] = -zero * sum;
    }
  }
  for (int64_t b = 0; b < w.blocks; ++b) {
    const int64_t begin = b * w.block_size, stop = std::min(w.k, begin + w.block_size);
    float partial[4] = {};
    for (int64_t k = begin; k < stop; ++k) partial[k % 4] += a[k];
    sums[b] = (partial[0] + partial[1]) + (partial[2] + partial[3]);
  }
}

/// Dot products of one vector of quantized values with its part of each row of A; `kFirst` begins them. The topmost
/// value of a lane is shifted down, as it holds the sign; the others count where they are.
template <int kBits, int kRows, int kAccumulators, bool kFirst>
HWY_INLINE void AddVector(hn::Vec<hn::RebindToSigned<D>> quantized, const float* HWY_RESTRICT a, int64_t a_row,
                          V (&acc)[kRows][kAccumulators]) {
  const D d;
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    const V start = hn::LoadU(d, a + r * a_row);
    acc[r][0] = kFirst ? start : hn::Add(acc[r][0], start);
  }
#pragma GCC unroll 16
  for (int p = 0; p < kPlanes<kBits>; ++p) {
    const auto q = p == kPlanes<kBits> - 1 ? hn::BitCast(di, hn::ShiftRight<32 - kBits>(hn::BitCast(du, quantized)))
                                           : hn::And(quantized, hn::Set(di, ((1 << kBits) - 1) << (p * kBits)));
    const V weight = hn::ConvertTo(d, q);
    const float* with = a + (1 + p) * kLanes;
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      V& sum = acc[r][(p + 1) % kAccumulators];
      sum = kFirst && kAccumulators == 2 && p == 0 ? hn::Mul(weight, hn::LoadU(d, with + r * a_row))
                                                   : hn::MulAdd(weight, hn::LoadU(d, with + r * a_row), sum);
    }
  }
}

/// Dot products of one row of weights with kRows rows of A, to be added over the lanes; zero points of the weights are left
/// to the caller. `kShared`: a vector of quantized values spans several blocks.
template <int kBits, int kRows, bool kShared>
HWY_INLINE void MultiplyQuantized(const NBitsWeights& w, const float* HWY_RESTRICT a, int64_t row, V (&total)[kRows]) {
  const D d;
  const hn::RebindToSigned<D> di;
  const hn::Repartition<uint8_t, D> d8;
  // One row of A alone would wait for its additions.
  constexpr int kAccumulators = kRows == 1 ? 2 : 1;
  const int64_t a_row = ArrangedSize(w), row_bytes = w.blocks * w.block_bytes();
  const uint8_t* HWY_RESTRICT quantized = w.quantized + row * row_bytes;
  const RowScales scales(w, row);
  const auto blocks = BlocksOfLanes(w);
  V acc[kRows][kAccumulators];
  const auto begin = [&] {
    for (int r = 0; r < kRows; ++r) {
      for (int i = 0; i < kAccumulators; ++i) acc[r][i] = hn::Zero(d);
    }
  };
  const auto finish = [&](V scale) HWY_ATTR {
    for (int r = 0; r < kRows; ++r) {
      V sum = acc[r][0];
      if constexpr (kAccumulators == 2) sum = hn::Add(sum, acc[r][1]);
      total[r] = hn::MulAdd(scale, sum, total[r]);
    }
    if constexpr (!kShared) begin();
  };
  for (int r = 0; r < kRows; ++r) total[r] = hn::Zero(d);
  begin();
  int64_t byte = 0;
  for (; byte + kVectorBytes <= row_bytes; byte += kVectorBytes, a += kStep<kBits>) {
    PrefetchStream(quantized + byte);
    AddVector<kBits, kRows, kAccumulators, kShared>(hn::BitCast(di, hn::LoadU(d8, quantized + byte)), a, a_row, acc);
    if constexpr (kShared) {
      finish(scales.OfLanes(byte, blocks));
    } else if (((byte + kVectorBytes) & (w.block_bytes() - 1)) == 0) {
      finish(hn::Set(d, scales.At(byte)));
    }
  }
  if (byte < row_bytes) {
    HWY_ALIGN uint8_t last[kVectorBytes] = {};
    std::memcpy(last, quantized + byte, static_cast<size_t>(row_bytes - byte));
    AddVector<kBits, kRows, kAccumulators, kShared>(hn::BitCast(di, hn::Load(d8, last)), a, a_row, acc);
    finish(scales.OfLanes(byte, blocks));
  }
}

template <int kBits, int kRows, bool kShared>
void MultiplyRows(const NBitsWeights& w, const float* a, const float* sums, int64_t begin, int64_t end, const float* bias,
                  float* c, int64_t c_row) {
  const D d;
  for (int64_t row = begin; row < end; ++row) {
    V total[1][kRows];
    MultiplyQuantized<kBits, kRows, kShared>(w, a, row, total[0]);
    if (!w.has_common_zero()) SubtractZeroPointTerms<kBits>(w, row, sums, 0.0f, total);
    for (int r = 0; r < kRows; ++r) {
      const float value = hn::GetLane(hn::SumOfLanes(d, total[0][r]));
      c[r * c_row + row] = bias == nullptr ? value : value + bias[row];
    }
  }
}

template <int kBits, bool kShared>
void Multiply(const NBitsWeights& w, int64_t rows, const float* a, const float* sums, int64_t begin, int64_t end,
              const float* bias, float* c, int64_t c_row) {
  const auto multiply = rows == 1   ? MultiplyRows<kBits, 1, kShared>
                        : rows == 2 ? MultiplyRows<kBits, 2, kShared>
                        : rows == 3 ? MultiplyRows<kBits, 3, kShared>
                                    : MultiplyRows<kBits, 4, kShared>;
  multiply(w, a, sums, begin, end, bias, c, c_row);
}

void ArrangeAll(const NBitsWeights& w, const float* a, float* arranged, float* sums) {
  (w.bits == 2 ? Arrange<2> : w.bits == 4 ? Arrange<4> : Arrange<8>)(w, a, arranged, sums);
}
void MultiplyAll(const NBitsWeights& w, int64_t rows, const float* a, const float* sums, int64_t begin, int64_t end,
                 const float* bias, float* c, int64_t c_row) {
  const bool shared = w.block_bytes() < kVectorBytes;
  const auto multiply = w.bits == 2   ? (shared ? Multiply<2, true> : Multiply<2, false>)
                        : w.bits == 4 ? (shared ? Multiply<4, true> : Multiply<4, false>)
                                      : (shared ? Multiply<8, true> : Multiply<8, false>);
  multiply(w, rows, a, sums, begin, end, bias, c, c_row);
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(ArrangedSize);
HWY_EXPORT(ArrangeAll);
HWY_EXPORT(MultiplyAll);

int64_t ArrangedNBitsSize(const NBitsWeights& weights) { return HWY_DYNAMIC_DISPATCH(ArrangedSize)(weights); }
void ArrangeForNBits(const NBitsWeights& weights, const float* a, float* arranged, float* block_sums) {
  HWY_DYNAMIC_DISPATCH(ArrangeAll)(weights, a, arranged, block_sums);
}
void MultiplyNBits(const NBitsWeights& weights, int64_t rows, const float* arranged, const float* block_sums, int64_t begin,
                   int64_t end, const float* bias, float* c, int64_t c_row) {
  HWY_DYNAMIC_DISPATCH(MultiplyAll)(weights, rows, arranged, block_sums, begin, end, bias, c, c_row);
}

}  // namespace tessera::cpu
#endif
