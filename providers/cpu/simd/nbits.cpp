// Products with weights of 2, 4 or 8 bits.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/nbits.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "simd/nbits.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// As many bytes as there are lanes make a chunk. A chunk is never more than the smallest block, 16 weights.
template <int kBits>
using Tag = hn::CappedTag<float, kBits == 2 ? 4 : 8>;

/// Lane l of plane p is weight l * kPlanes + p of the chunk.
template <int kBits>
inline constexpr int kPlanes = 8 / kBits;

template <int kBits, int kPlane, class D>
HWY_INLINE hn::Vec<D> PlaneOf(D d, hn::Vec<hn::RebindToSigned<D>> bytes) {
  const hn::RebindToSigned<D> di;
  if constexpr (kBits == 8) return hn::ConvertTo(d, bytes);
  if constexpr (kPlane == kPlanes<kBits> - 1) return hn::ConvertTo(d, hn::ShiftRight<kPlane * kBits>(bytes));
  if constexpr (kPlane == 0) return hn::ConvertTo(d, hn::And(bytes, hn::Set(di, (1 << kBits) - 1)));
  return hn::ConvertTo(d, hn::And(hn::ShiftRight<kPlane * kBits>(bytes), hn::Set(di, (1 << kBits) - 1)));
}

template <int kBits>
void Arrange(const NBitsWeights& w, const float* a, float* arranged, float* sums) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Tag<kBits>()));
  constexpr int kCount = kPlanes<kBits>;
  const int64_t chunk = lanes * kCount;
  for (int64_t b = 0; b < w.blocks; ++b) {
    float sum = 0;
    for (int64_t i = 0; i < w.block_size; i += chunk) {
      float* out = arranged + b * w.block_size + i;
      for (int64_t e = 0; e < chunk; ++e) {
        const int64_t k = b * w.block_size + i + e;
        const float value = k < w.k ? a[k] : 0.0f;
        out[e % kCount * lanes + e / kCount] = value;
        sum += value;
      }
    }
    sums[b] = sum;
  }
}

template <int kBits, int kRows>
HWY_INLINE void MultiplyRow(const NBitsWeights& w, const float* HWY_RESTRICT a, const float* HWY_RESTRICT sums, int64_t row,
                            const float* bias, float* c, int64_t c_row) {
  using D = Tag<kBits>;
  using V = hn::Vec<D>;
  constexpr int kCount = kPlanes<kBits>;
  // Independent sums hide the latency of the additions where one row of A gives too few of them.
  constexpr int kSums = kRows == 1 ? std::max(kCount, 4) : kCount;
  const D d;
  const hn::RebindToSigned<D> di;
  const hn::Rebind<uint8_t, D> d8;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t chunks = w.block_bytes() / lanes;
  const int64_t a_stride = w.blocks * w.block_size;
  const uint8_t* HWY_RESTRICT codes = w.codes + row * w.blocks * w.block_bytes();
  const float* HWY_RESTRICT scales = w.scales + row * w.blocks;
  V total[kRows];
  float correction[kRows];
  for (int r = 0; r < kRows; ++r) {
    total[r] = hn::Zero(d);
    correction[r] = 0;
  }
  const bool centered = w.zeros == nullptr && w.float_zeros == nullptr;
  for (int64_t b = 0; b < w.blocks; ++b) {
    V sum[kSums][kRows];
    for (int i = 0; i < kSums; ++i) {
      for (int r = 0; r < kRows; ++r) sum[i][r] = hn::Zero(d);
    }
    const auto add = [&]<int kFirst>(const uint8_t* from, const float* with) HWY_ATTR {
      const auto bytes = hn::PromoteTo(di, hn::LoadU(d8, from));
      const auto plane = [&]<int kPlane>() HWY_ATTR {
        if constexpr (kPlane < kCount) {
          const V weight = PlaneOf<kBits, kPlane>(d, bytes);
          for (int r = 0; r < kRows; ++r) {
            V& s = sum[(kFirst + kPlane) % kSums][r];
            s = hn::MulAdd(weight, hn::LoadU(d, with + r * a_stride + kPlane * lanes), s);
          }
        }
      };
      plane.template operator()<0>();
      plane.template operator()<1>();
      plane.template operator()<2>();
      plane.template operator()<3>();
    };
    int64_t i = 0;
    if constexpr (kSums > kCount) {
      for (; i + 2 <= chunks; i += 2) {
        add.template operator()<0>(codes + i * lanes, a + i * lanes * kCount);
        add.template operator()<kCount>(codes + (i + 1) * lanes, a + (i + 1) * lanes * kCount);
      }
    }
    for (; i < chunks; ++i) add.template operator()<0>(codes + i * lanes, a + i * lanes * kCount);
    codes += w.block_bytes();
    a += w.block_size;
    const float scale = scales[b];
    const float offset = centered ? scale : scale * w.ZeroOf(row, b);
    for (int r = 0; r < kRows; ++r) {
      for (int k = 1; k < kSums; ++k) sum[0][r] = hn::Add(sum[0][r], sum[k][r]);
      total[r] = hn::MulAdd(hn::Set(d, scale), sum[0][r], total[r]);
      correction[r] += offset * sums[r * w.blocks + b];
    }
  }
  const float zero = centered ? static_cast<float>(1 << (kBits - 1)) : 1.0f;
  for (int r = 0; r < kRows; ++r) {
    const float value = hn::GetLane(hn::SumOfLanes(d, total[r])) - zero * correction[r];
    c[r * c_row + row] = bias == nullptr ? value : value + bias[row];
  }
}

template <int kBits>
void Multiply(const NBitsWeights& w, int64_t rows, const float* a, const float* sums, int64_t begin, int64_t end, const float* bias,
              float* c, int64_t c_row) {
  for (int64_t row = begin; row < end; ++row) {
    switch (rows) {
      case 1: MultiplyRow<kBits, 1>(w, a, sums, row, bias, c, c_row); break;
      case 2: MultiplyRow<kBits, 2>(w, a, sums, row, bias, c, c_row); break;
      case 3: MultiplyRow<kBits, 3>(w, a, sums, row, bias, c, c_row); break;
      default: MultiplyRow<kBits, 4>(w, a, sums, row, bias, c, c_row);
    }
  }
}

void ArrangeAll(const NBitsWeights& w, const float* a, float* arranged, float* sums) {
  (w.bits == 2 ? Arrange<2> : w.bits == 4 ? Arrange<4> : Arrange<8>)(w, a, arranged, sums);
}
void MultiplyAll(const NBitsWeights& w, int64_t rows, const float* a, const float* sums, int64_t begin, int64_t end, const float* bias,
                 float* c, int64_t c_row) {
  (w.bits == 2 ? Multiply<2> : w.bits == 4 ? Multiply<4> : Multiply<8>)(w, rows, a, sums, begin, end, bias, c, c_row);
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(ArrangeAll);
HWY_EXPORT(MultiplyAll);

void ArrangeForNBits(const NBitsWeights& weights, const float* a, float* arranged, float* block_sums) {
  HWY_DYNAMIC_DISPATCH(ArrangeAll)(weights, a, arranged, block_sums);
}
void MultiplyNBits(const NBitsWeights& weights, int64_t rows, const float* arranged, const float* block_sums, int64_t begin,
                   int64_t end, const float* bias, float* c, int64_t c_row) {
  HWY_DYNAMIC_DISPATCH(MultiplyAll)(weights, rows, arranged, block_sums, begin, end, bias, c, c_row);
}

}  // namespace tessera::cpu
#endif
