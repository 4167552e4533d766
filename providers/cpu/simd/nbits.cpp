// Products with weights of 2, 4 or 8 bits.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/nbits.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>

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

/// Whole chunks of 4 or 8 bits; how many weights they are.
template <int kBits>
int64_t DequantizeChunks(const uint8_t* codes, int64_t count, float scale, float zero, float* HWY_RESTRICT out) {
  using D = Tag<kBits>;
  const D d;
  const hn::RebindToSigned<D> di;
  const hn::Rebind<uint8_t, D> d8;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, scale), offset = hn::Set(d, zero);
  int64_t i = 0;
  for (; i + lanes * kPlanes<kBits> <= count; i += lanes * kPlanes<kBits>) {
    const auto bytes = hn::PromoteTo(di, hn::LoadU(d8, codes + i / kPlanes<kBits>));
    const auto low = hn::Mul(hn::Sub(PlaneOf<kBits, 0>(d, bytes), offset), factor);
    if constexpr (kBits == 8) {
      hn::StoreU(low, d, out + i);
    } else {
      const auto high = hn::Mul(hn::Sub(PlaneOf<kBits, 1>(d, bytes), offset), factor);
      hn::StoreInterleaved2(low, high, d, out + i);
    }
  }
  return i;
}

template <int kBits>
void Dequantize(const NBitsWeights& w, int64_t row, int64_t k0, int64_t count, float* HWY_RESTRICT out) {
  constexpr int kCount = kPlanes<kBits>;
  constexpr int kMask = (1 << kBits) - 1;
  const int shift = std::countr_zero(static_cast<uint64_t>(w.block_size));
  while (count > 0) {
    const int64_t block = k0 >> shift, first = k0 & (w.block_size - 1);
    const int64_t n = std::min(count, w.block_size - first);
    const uint8_t* codes = w.codes + (row * w.blocks + block) * w.block_bytes();
    const float scale = w.scales[row * w.blocks + block], zero = w.ZeroOf(row, block);
    const auto one = [&](int64_t i) {
      const int64_t at = first + i;
      return (static_cast<float>((codes[at / kCount] >> (at % kCount * kBits)) & kMask) - zero) * scale;
    };
    int64_t i = 0;
    if (first % kCount == 0) {
      if constexpr (kBits >= 4) i = DequantizeChunks<kBits>(codes + first / kCount, n, scale, zero, out);
      for (; i + kCount <= n; i += kCount) {
        const int byte = codes[(first + i) / kCount];
        for (int p = 0; p < kCount; ++p) out[i + p] = (static_cast<float>((byte >> (p * kBits)) & kMask) - zero) * scale;
      }
    }
    for (; i < n; ++i) out[i] = one(i);
    out += n;
    k0 += n;
    count -= n;
  }
}

void ArrangeAll(const NBitsWeights& w, const float* a, float* arranged, float* sums) {
  (w.bits == 2 ? Arrange<2> : w.bits == 4 ? Arrange<4> : Arrange<8>)(w, a, arranged, sums);
}
void MultiplyAll(const NBitsWeights& w, int64_t rows, const float* a, const float* sums, int64_t begin, int64_t end, const float* bias,
                 float* c, int64_t c_row) {
  (w.bits == 2 ? Multiply<2> : w.bits == 4 ? Multiply<4> : Multiply<8>)(w, rows, a, sums, begin, end, bias, c, c_row);
}
void DequantizeAll(const NBitsWeights& w, int64_t row, int64_t k0, int64_t count, float* out) {
  (w.bits == 2 ? Dequantize<2> : w.bits == 4 ? Dequantize<4> : Dequantize<8>)(w, row, k0, count, out);
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(ArrangeAll);
HWY_EXPORT(MultiplyAll);
HWY_EXPORT(DequantizeAll);

void ArrangeForNBits(const NBitsWeights& weights, const float* a, float* arranged, float* block_sums) {
  HWY_DYNAMIC_DISPATCH(ArrangeAll)(weights, a, arranged, block_sums);
}
void MultiplyNBits(const NBitsWeights& weights, int64_t rows, const float* arranged, const float* block_sums, int64_t begin,
                   int64_t end, const float* bias, float* c, int64_t c_row) {
  HWY_DYNAMIC_DISPATCH(MultiplyAll)(weights, rows, arranged, block_sums, begin, end, bias, c, c_row);
}
void DequantizeNBits(const NBitsWeights& weights, int64_t row, int64_t k0, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(DequantizeAll)(weights, row, k0, count, out);
}

}  // namespace tessera::cpu
#endif
