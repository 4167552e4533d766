// Panels of weights of 2, 4 or 8 bits as floats, in the layout of the float GEMM's panels: the same bytes of
// sixteen columns are interleaved while they are still quantized, so that no float is ever moved.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/nbits/panel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>

#include "kernels/gemm/nbits/nbits.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
using DB = hn::FixedTag<uint8_t, 16>;
using VB = hn::Vec<DB>;

constexpr int kLanes = static_cast<int>(HWY_LANES(float));
constexpr int64_t kWidth = 2 * kLanes;                        // columns of a panel
constexpr int64_t kTogether = std::min<int64_t>(kWidth, 16);  // columns of a transposition
constexpr int kVectors = static_cast<int>(kTogether) / kLanes;

/// Weights of a column in one step: 4 bytes of 2 bits, 8 of 4 or 8. No block has fewer.
template <int kBits>
constexpr int64_t kStepBytes = kBits == 2 ? 4 : 8;
template <int kBits>
constexpr int64_t kStep = kStepBytes<kBits> * 8 / kBits;

/// Of each column.
struct Affine {
  HWY_ALIGN float scales[kWidth];
  HWY_ALIGN float zeros[kWidth];
};

/// kCount bytes, 4 or 8, and zeros.
template <int kCount>
HWY_INLINE VB LoadBytes(const uint8_t* from) {
  const auto bytes = hn::LoadU(hn::FixedTag<uint8_t, kCount>(), from);
  if constexpr (kCount == 4) {
    return hn::ZeroExtendVector(DB(), hn::ZeroExtendVector(hn::FixedTag<uint8_t, 8>(), bytes));
  } else {
    return hn::ZeroExtendVector(DB(), bytes);
  }
}

/// The first kCount bytes: 4, 8 or 16.
template <int kCount>
HWY_INLINE hn::Vec<hn::FixedTag<uint8_t, kCount>> FirstBytes(VB bytes) {
  if constexpr (kCount == 16) return bytes;
  else if constexpr (kCount == 8) return hn::LowerHalf(bytes);
  else return hn::LowerHalf(hn::LowerHalf(bytes));
}

/// Bytes [0, 8) of each column: vector b holds byte b of all of them.
template <int kCount>
HWY_INLINE void TransposeBytes(const uint8_t* const* columns, VB (&out)[8]) {
  const DB d;
  VB r[16], t[8], u[8], v[8];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) r[i] = i < kTogether ? LoadBytes<kCount>(columns[i]) : hn::Zero(d);
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) t[i] = hn::InterleaveLower(d, r[i], r[i + 8]);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    u[i] = hn::InterleaveLower(d, t[i], t[i + 4]);
    u[i + 4] = hn::InterleaveUpper(d, t[i], t[i + 4]);
  }
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      v[4 * half + i] = hn::InterleaveLower(d, u[4 * half + i], u[4 * half + i + 2]);
      v[4 * half + i + 2] = hn::InterleaveUpper(d, u[4 * half + i], u[4 * half + i + 2]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    out[2 * i] = hn::InterleaveLower(d, v[2 * i], v[2 * i + 1]);
    out[2 * i + 1] = hn::InterleaveUpper(d, v[2 * i], v[2 * i + 1]);
  }
}

/// Quantized values of kTogether columns at one k.
HWY_INLINE void StoreColumns(VB quantized, const VF (&scales)[kVectors], const VF (&zeros)[kVectors],
                             float* HWY_RESTRICT out) {
  const DF d;
  const hn::RebindToSigned<DF> di;
#pragma GCC unroll 2
  for (int i = 0; i < kVectors; ++i) {
    const VB from = i == 0 ? quantized : hn::ShiftRightBytes<(kLanes < 16 ? kLanes : 0)>(DB(), quantized);
    const VF value = hn::ConvertTo(d, hn::PromoteTo(di, FirstBytes<kLanes>(from)));
    hn::StoreU(hn::Mul(hn::Sub(value, zeros[i]), scales[i]), d, out + i * kLanes);
  }
}

/// One step of k for kTogether columns, rows kWidth apart.
template <int kBits>
HWY_INLINE void DequantizeStep(const uint8_t* const* columns, const Affine& affine, int64_t first,
                               float* HWY_RESTRICT out) {
  const DF d;
  const DB db;
  VB bytes[8];
  TransposeBytes<static_cast<int>(kStepBytes<kBits>)>(columns, bytes);
  VF scales[kVectors], zeros[kVectors];
  for (int i = 0; i < kVectors; ++i) {
    scales[i] = hn::Load(d, affine.scales + first + i * kLanes);
    zeros[i] = hn::Load(d, affine.zeros + first + i * kLanes);
  }
  constexpr int kEach = 8 / kBits;
  const VB mask = hn::Set(db, static_cast<uint8_t>((1 << kBits) - 1));
#pragma GCC unroll 8
  for (int b = 0; b < kStepBytes<kBits>; ++b) {
    float* to = out + b * kEach * kWidth;
    StoreColumns(kBits == 8 ? bytes[b] : hn::And(bytes[b], mask), scales, zeros, to);
    if constexpr (kBits == 4) StoreColumns(hn::ShiftRight<4>(bytes[b]), scales, zeros, to + kWidth);
    if constexpr (kBits == 2) {
      StoreColumns(hn::And(hn::ShiftRight<2>(bytes[b]), mask), scales, zeros, to + kWidth);
      StoreColumns(hn::And(hn::ShiftRight<4>(bytes[b]), mask), scales, zeros, to + 2 * kWidth);
      StoreColumns(hn::ShiftRight<6>(bytes[b]), scales, zeros, to + 3 * kWidth);
    }
  }
}

template <int kBits>
void Panel(const NBitsWeights& w, int64_t k0, int64_t kc, int64_t n0, int64_t width, float* HWY_RESTRICT out) {
  constexpr int64_t kStepK = kStep<kBits>;
  const int shift = std::countr_zero(static_cast<uint64_t>(w.block_size));
  const int64_t row_bytes = w.blocks * w.block_bytes();
  const uint8_t* columns[kWidth];
  for (int64_t j = 0; j < kWidth; ++j) {
    columns[j] = w.quantized + (n0 + std::min(j, width - 1)) * row_bytes + k0 / kStepK * kStepBytes<kBits>;
  }
  Affine affine;
  HWY_ALIGN float edge[kStepK * kWidth];
  int64_t known = -1;
  for (int64_t k = k0 / kStepK * kStepK; k < k0 + kc; k += kStepK) {
    const int64_t block = k >> shift;
    if (block != known) {
      known = block;
      for (int64_t j = 0; j < kWidth; ++j) {
        const int64_t n = n0 + std::min(j, width - 1);
        affine.scales[j] = w.scales[n * w.blocks + block];
        affine.zeros[j] = w.ZeroOf(n, block);
      }
    }
    // A step that begins before k0 or ends after the last k goes through a buffer.
    const int64_t from = std::max(k, k0), to = std::min(k + kStepK, k0 + kc);
    float* target = to - from == kStepK ? out + (k - k0) * kWidth : edge;
    for (int64_t j = 0; j < kWidth; j += kTogether) DequantizeStep<kBits>(columns + j, affine, j, target + j);
    if (target == edge) std::copy_n(edge + (from - k) * kWidth, (to - from) * kWidth, out + (from - k0) * kWidth);
    for (auto& column : columns) column += kStepBytes<kBits>;
  }
}

void PanelOfAnyBits(const NBitsWeights& w, int64_t k0, int64_t kc, int64_t n0, int64_t width, float* out) {
  (w.bits == 2 ? Panel<2> : w.bits == 4 ? Panel<4> : Panel<8>)(w, k0, kc, n0, width, out);
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(PanelOfAnyBits);

void DequantizeNBitsPanel(const NBitsWeights& weights, int64_t k0, int64_t kc, int64_t n0, int64_t width, float* out) {
  HWY_DYNAMIC_DISPATCH(PanelOfAnyBits)(weights, k0, kc, n0, width, out);
}

}  // namespace tessera::cpu
#endif
