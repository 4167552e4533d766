// Rows of A as integers of one or three bytes, and GEMM of few of them with weights as they are stored.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/nbits/quantized.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/gemm/nbits/blocks-inl.h"
#include "kernels/gemm/nbits/quantized-inl.h"
#include "kernels/vector/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

/// Numbers that share a scale.
constexpr int64_t kMostUnit = 32;
/// Below, three bytes' own scale would not be a normal number.
constexpr float kLeastOfUnit = 0x1p-100f;

// --- quantization
// ------------------------------------------------------------------------------------------------------------

struct QuantizedUnit {
  float scale;
  float sum;  // of what the quantized values stand for
  bool exact;
};

/// One unit: `bytes` is [limb][kMostUnit], the numbers in their order.
template <class Form>
HWY_INLINE QuantizedUnit QuantizeUnit(const float* HWY_RESTRICT values, int64_t unit, int8_t* HWY_RESTRICT bytes) {
  const DF d;
  const D32 d32;
  const hn::Rebind<int8_t, D32> d8;
  // As integers, what is not finite counts as largest.
  V32 most = hn::Zero(d32);
  for (int64_t i = 0; i < unit; i += kLanes) most = hn::Max(most, hn::BitCast(d32, hn::Abs(hn::LoadU(d, values + i))));
  const float largest = std::bit_cast<float>(hn::GetLane(hn::MaxOfLanes(d32, most)));
  const float scale = largest / static_cast<float>(Form::kMost);
  const VF inverse = hn::Set(d, scale > 0 ? 1.0f / scale : 0.0f), bound = hn::Set(d, static_cast<float>(Form::kMost));
  V32 sum = hn::Zero(d32);
  for (int64_t i = 0; i < unit; i += kLanes) {
    // Bounds keep what is not finite, and inverses that are not, in range.
    const VF scaled = hn::Min(hn::Max(hn::Mul(hn::LoadU(d, values + i), inverse), hn::Neg(bound)), bound);
    V32 rest = hn::NearestInt(scaled);
    sum = hn::Add(sum, rest);
#pragma GCC unroll 3
    for (int limb = Form::kLimbs - 1; limb > 0; --limb) {
      const V32 low = hn::ShiftRight<24>(hn::ShiftLeft<24>(rest));
      hn::StoreU(hn::DemoteTo(d8, low), d8, bytes + limb * kMostUnit + i);
      rest = hn::ShiftRight<8>(hn::Sub(rest, low));
    }
    hn::StoreU(hn::DemoteTo(d8, rest), d8, bytes + i);
  }
  const bool exact = largest == 0.0f || (largest >= kLeastOfUnit && std::isfinite(largest));
  return {scale, scale * static_cast<float>(hn::GetLane(hn::SumOfLanes(d32, sum))), exact};
}

/// Copies a unit's bytes to the lanes that are multiplied by its weights, `to` the first of them.
template <class Form>
HWY_INLINE void StoreUnit(const int8_t* HWY_RESTRICT bytes, int64_t unit, int8_t* HWY_RESTRICT to) {
  const hn::FixedTag<int8_t, 16> d;
  for (int limb = 0; limb < Form::kLimbs; ++limb, bytes += kMostUnit, to += Form::kHalves * kVectorBytes) {
    if constexpr (Form::kHalves == 1) {
      // The lanes of a unit may belong to several vectors.
      for (int64_t i = 0; i < unit; i += 16) {
        hn::StoreU(hn::LoadU(d, bytes + i), d, to + i / kVectorBytes * Form::kLimbs * kVectorBytes + i % kVectorBytes);
      }
    } else {
      const auto first = hn::LoadU(d, bytes), second = hn::LoadU(d, bytes + (unit > 16 ? 16 : 0));
      const auto even = hn::ConcatEven(d, second, first), odd = hn::ConcatOdd(d, second, first);
      const size_t count = static_cast<size_t>(unit) / 2;
      std::memcpy(to, &even, count);
      std::memcpy(to + kVectorBytes, &odd, count);
    }
  }
}

/// The origin of the quantized values.
template <class Form>
HWY_INLINE int OriginOf(const NBitsWeights& w) {
  return Form::kBits == 8 ? 128 : w.has_common_zero() ? w.common_zero : 0;
}

/// The initial accumulator of each group of A, so that the quantized values of the weights count from their origin.
template <class Form>
void FillStarts(const NBitsWeights& w, const QuantizedRows& to) {
  using Accumulators = typename Form::Accumulators;
  const D8 d8;
  const D32 d32;
  const V8 one = hn::Set(d8, Form::kCenter + 1);  // as zero points are, pairs of products would not fit into 16 bits
  const Accumulators factor =
      hn::Set(hn::DFromV<Accumulators>(), static_cast<hn::TFromV<Accumulators>>(Form::kCenter - OriginOf<Form>(w)));
  const auto* quantized = reinterpret_cast<const uint8_t*>(to.quantized);
  for (int64_t group = 0; group < GroupsOf(w); group += kLanes) {
    V32 start = hn::Zero(d32);
    for (int limb = 0; limb < Form::kLimbs; ++limb) {
      Accumulators acc = Form::Of(hn::Zero(d32));
      for (int64_t half = 0; half < Form::kHalves; ++half, quantized += kVectorBytes)
        acc = Form::Add(acc, one, hn::LoadU(d8, quantized));
      start = hn::Add(hn::ShiftLeft<8>(start), hn::BitCast(d32, hn::Mul(acc, factor)));
    }
    hn::StoreU(start, d32, to.starts + group);
  }
}

template <class Form>
HWY_INLINE bool PairsVectors(const NBitsWeights& w) {
  return Form::kPairsVectors && w.block_size >= kMostUnit;
}

/// Two vectors whose halves of 8 bytes alternate.
template <class V>
struct Alternated {
  HWY_INLINE Alternated(V a, V b) {
    const hn::ScalableTag<uint64_t> d64;
    const hn::DFromV<V> d;
    const auto wide_a = hn::BitCast(d64, a), wide_b = hn::BitCast(d64, b);
    lower = hn::BitCast(d, hn::InterleaveLower(d64, wide_a, wide_b));
    upper = hn::BitCast(d, hn::InterleaveUpper(d64, wide_a, wide_b));
  }
  V lower, upper;
};

/// Quantized values, scales and initial accumulators in the order of interleaved pairs of whole vectors of weights.
template <class Form>
void PairVectors(const NBitsWeights& w, const QuantizedRows& to) {
  const D8 d8;
  constexpr int64_t kVectorValues = Form::kLimbs * kVectorBytes;
  for (int64_t pair = 0; pair < w.blocks * w.block_bytes() / (2 * kVectorBytes); ++pair) {
    for (int limb = 0; limb < Form::kLimbs; ++limb) {
      auto* first = reinterpret_cast<uint8_t*>(to.quantized) + pair * 2 * kVectorValues + limb * kVectorBytes;
      const Alternated<V8> quantized(hn::LoadU(d8, first), hn::LoadU(d8, first + kVectorValues));
      hn::StoreU(quantized.lower, d8, first);
      hn::StoreU(quantized.upper, d8, first + kVectorValues);
    }
    float* scales = to.scales + pair * 2 * kLanes;
    hn::StoreU(Alternated<VF>(hn::LoadU(DF(), scales), hn::LoadU(DF(), scales + kLanes)).lower, DF(), scales);
    int32_t* starts = to.starts + pair * 2 * kLanes;
    const Alternated<V32> sums(hn::LoadU(D32(), starts), hn::LoadU(D32(), starts + kLanes));
    hn::StoreU(hn::Add(sums.lower, sums.upper), D32(), starts);
  }
}

template <class Form>
bool Quantize(const NBitsWeights& w, const float* a, const QuantizedRows& to) {
  const int64_t unit = std::min(w.block_size, kMostUnit), groups = GroupsOf(w), stored = w.blocks * w.block_bytes() / 4;
  const int shift = std::countr_zero(static_cast<uint64_t>(w.block_size));
  std::fill_n(to.block_sums, w.blocks, 0.0f);
  std::fill(to.scales + stored, to.scales + groups, 0.0f);
  constexpr int64_t kStep = Form::kLimbs * Form::kHalves * kVectorBytes;
  std::memset(to.quantized + (groups / kLanes - 1) * kStep, 0, static_cast<size_t>(kStep));
  HWY_ALIGN float last[kMostUnit] = {};
  HWY_ALIGN int8_t bytes[Form::kLimbs * kMostUnit];
  bool exact = true;
  for (int64_t k0 = 0; k0 < w.blocks << shift; k0 += unit) {
    const float* values = a + k0;
    if (k0 + unit > w.k) {
      std::fill_n(last, unit, 0.0f);
      std::copy(a + std::min(k0, w.k), a + w.k, last);
      values = last;
    }
    const QuantizedUnit quantized = QuantizeUnit<Form>(values, unit, bytes);
    const int64_t group = k0 / Form::kGroup;
    StoreUnit<Form>(bytes, unit, to.quantized + Form::Offset(group));
    std::fill_n(to.scales + group, unit / Form::kGroup, quantized.scale);
    to.unit_sums[group] = quantized.sum;
    to.block_sums[k0 >> shift] += quantized.sum;
    exact &= quantized.exact;
  }
  FillStarts<Form>(w, to);
  if (to.few && PairsVectors<Form>(w)) PairVectors<Form>(w, to);
  return exact || Form::kLimbs == kByteLimbs;
}

// --- few rows of A: some rows of weights at a time
// ---------------------------------------------------------------------------

/// Rows of weights that share what is loaded of A: as many as there are registers for.
template <int kRows>
constexpr int64_t kTogether = HWY_TARGET == HWY_AVX3 || kRows == 1 ? 4
                              : kRows == 2                         ? 2
                                                                   : 1;

/// Accumulators of each lane of one or two vectors of kTogether rows of weights with one row of A, `with` its integers.
template <class Form, int kVectors, int kTogether>
HWY_INLINE void MultiplyVectors(const V8 (&bytes)[kVectors][kTogether], const uint8_t* HWY_RESTRICT with,
                                const int32_t* HWY_RESTRICT starts, V32 (&lanes)[kTogether]) {
  const D8 d8;
  const D32 d32;
  const V8 low = hn::Set(d8, 15);
  const auto start = Form::Of(hn::LoadU(d32, starts));
  typename Form::Accumulators acc[kTogether];
#pragma GCC unroll 4
  for (auto& sum : acc) sum = Form::kLimbs == 1 ? start : Form::Of(hn::Zero(d32));
#pragma GCC unroll 3
  for (int limb = 0; limb < Form::kLimbs; ++limb) {
    if constexpr (Form::kLimbs > 1) {
#pragma GCC unroll 4
      for (auto& sum : acc) {
        if (limb > 0) sum = hn::ShiftLeft<8>(sum);
        if (limb == Form::kLimbs - 1) sum = hn::Add(sum, start);
      }
    }
#pragma GCC unroll 2
    for (int part = 0; part < kVectors * Form::kHalves; ++part) {
      const int64_t half = part % Form::kHalves, vector = part / Form::kHalves;
      const V8 a = hn::LoadU(d8, with + ((vector * Form::kLimbs + limb) * Form::kHalves + half) * kVectorBytes);
#pragma GCC unroll 4
      for (int i = 0; i < kTogether; ++i) {
        V8 quantized = bytes[vector][i];
        if (half == 1) quantized = hn::BitCast(d8, hn::ShiftRight<4>(hn::BitCast(D16(), quantized)));
        if constexpr (Form::kBits == 4) quantized = hn::And(quantized, low);
        acc[i] = Form::Add(acc[i], quantized, a);
      }
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kTogether; ++i) lanes[i] = Form::ToLanes(acc[i]);
}

/// The dot products of one or two vectors of quantized values, at `byte` of kTogether rows of weights, with each row of A.
template <class Form, int kVectors, int kTogether, int kRows>
HWY_INLINE void AddVectors(const V8 (&bytes)[kVectors][kTogether], const VF (&scales)[kTogether], const QuantizedRows& a,
                           int64_t groups, int64_t byte, VF (&total)[kTogether][kRows]) {
  const DF d;
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    const int64_t group = r * groups + byte / 4;
    V32 acc[kTogether];
    MultiplyVectors<Form>(bytes, reinterpret_cast<const uint8_t*>(a.quantized) + Form::kLimbs * Form::kGroup * group,
                          a.starts + group, acc);
    const VF scale = hn::LoadU(d, a.scales + group);
#pragma GCC unroll 4
    for (int i = 0; i < kTogether; ++i)
      total[i][r] = hn::MulAdd(hn::ConvertTo(d, acc[i]), hn::Mul(scales[i], scale), total[i][r]);
  }
}

/// The sums over the lanes of four vectors.
HWY_INLINE hn::Vec<hn::FixedTag<float, 4>> SumsOfFour(VF v0, VF v1, VF v2, VF v3) {
  const DF d;
  const hn::RepartitionToWide<DF> wide;
  const auto first = hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, v0, v1), hn::InterleaveUpper(d, v0, v1)));
  const auto second = hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, v2, v3), hn::InterleaveUpper(d, v2, v3)));
  const VF sums = hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, first, second)),
                          hn::BitCast(d, hn::InterleaveUpper(wide, first, second)));
  const auto join = [](auto self, auto tag, auto blocks) HWY_ATTR {
    if constexpr (hn::MaxLanes(tag) == 4) {
      return blocks;
    } else {
      const hn::Half<decltype(tag)> half;
      return self(self, half, hn::Add(hn::LowerHalf(half, blocks), hn::UpperHalf(half, blocks)));
    }
  };
  return join(join, d, sums);
}

/// Totals over the lanes, and the bias, of kTogether rows of weights from `row` on.
template <int kTogether, int kRows>
HWY_INLINE void StoreTotals(const VF (&total)[kTogether][kRows], int64_t row, const float* bias, float* c, int64_t c_row) {
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    float* to = c + r * c_row + row;
    if constexpr (kTogether == 4) {
      const hn::FixedTag<float, 4> d;
      const auto sums = SumsOfFour(total[0][r], total[1][r], total[2][r], total[3][r]);
      hn::StoreU(bias == nullptr ? sums : hn::Add(sums, hn::LoadU(d, bias + row)), d, to);
    } else {
      for (int i = 0; i < kTogether; ++i) {
        const float sum = hn::GetLane(hn::SumOfLanes(DF(), total[i][r]));
        to[i] = bias == nullptr ? sum : sum + bias[row + i];
      }
    }
  }
}

/// `count` bytes, fewer than a vector has, and zeros.
HWY_INLINE V8 LoadLast(const uint8_t* from, int64_t count) {
  HWY_ALIGN uint8_t last[kVectorBytes] = {};
  std::memcpy(last, from, static_cast<size_t>(count));
  return hn::Load(D8(), last);
}

/// `blocks` is BlocksOfLanes(), and of pairs `paired_blocks`.
template <class Form, int kTogether, int kRows, class Indices>
HWY_INLINE void MultiplyRows(const NBitsWeights& w, const QuantizedRows& a, Indices blocks, Indices paired_blocks,
                             int64_t row, const float* bias, float* c, int64_t c_row) {
  const DF d;
  const D8 d8;
  const int64_t groups = GroupsOf(w), row_bytes = w.blocks * w.block_bytes();
  // Prefetched on the way: the same bytes of the next rows, or of rows after those.
  const int64_t ahead = RoundUp(kStreamAhead, kTogether * row_bytes);
  for (int64_t i = 0; i < kTogether; ++i) RowScales(w, row + i).Prefetch(ahead);
  const uint8_t* HWY_RESTRICT quantized = w.quantized + row * row_bytes;
  VF total[kTogether][kRows];
  for (auto& of_row : total) {
    for (VF& lanes : of_row) lanes = hn::Zero(d);
  }
  const auto add = [&](int64_t byte, auto& bytes, bool shared, Indices lanes) HWY_ATTR {
    VF scales[kTogether];
#pragma GCC unroll 4
    for (int64_t i = 0; i < kTogether; ++i) {
      const RowScales row_scales(w, row + i);
      scales[i] = shared ? row_scales.OfLanes(byte, lanes) : hn::Set(d, row_scales.At(byte));
    }
    AddVectors<Form>(bytes, scales, a, groups, byte, total);
  };
  const auto load = [&](const uint8_t* from) HWY_ATTR {
    __builtin_prefetch(from + ahead, 0, 2);  // into the second cache, from where the first fills itself in time
    return hn::LoadU(d8, from);
  };
  int64_t byte = 0;
  if constexpr (Form::kPairsVectors) {
    const int64_t end = PairsVectors<Form>(w) ? row_bytes : 0;
    const bool shared = w.block_bytes() < 2 * kVectorBytes;
    V8 bytes[2][kTogether];
    for (; byte + 2 * kVectorBytes <= end; byte += 2 * kVectorBytes) {
#pragma GCC unroll 4
      for (int64_t i = 0; i < kTogether; ++i) {
        const uint8_t* from = quantized + i * row_bytes + byte;
        const V8 first = load(from);
        const Alternated<V8> alternated(first, load(from + kVectorBytes));
        bytes[0][i] = alternated.lower;
        bytes[1][i] = alternated.upper;
      }
      add(byte, bytes, shared, paired_blocks);
    }
  }
  const bool shared = w.block_bytes() < kVectorBytes;
  V8 bytes[1][kTogether];
  for (; byte + kVectorBytes <= row_bytes; byte += kVectorBytes) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kTogether; ++i) bytes[0][i] = load(quantized + i * row_bytes + byte);
    add(byte, bytes, shared, blocks);
  }
  if (byte < row_bytes) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kTogether; ++i) bytes[0][i] = LoadLast(quantized + i * row_bytes + byte, row_bytes - byte);
    add(byte, bytes, shared, blocks);
  }
  if (const int origin = OriginOf<Form>(w); !w.has_common_zero() || w.common_zero != origin) {
    SubtractZeroPointTerms<Form::kBits>(w, row, a.block_sums, static_cast<float>(origin), total);
  }
  StoreTotals(total, row, bias, c, c_row);
}

template <class Form, int kRows>
void MultiplyAllRows(const NBitsWeights& w, const QuantizedRows& a, int64_t begin, int64_t end, const float* bias, float* c,
                     int64_t c_row) {
  const auto blocks = BlocksOfLanes(w), paired_blocks = BlocksOfLanes(w, PairsVectors<Form>(w));
  int64_t row = begin;
  for (; row + kTogether<kRows> <= end; row += kTogether<kRows>) {
    MultiplyRows<Form, kTogether<kRows>, kRows>(w, a, blocks, paired_blocks, row, bias, c, c_row);
  }
  for (; row < end; ++row) MultiplyRows<Form, 1, kRows>(w, a, blocks, paired_blocks, row, bias, c, c_row);
}

// --- dispatch
// ----------------------------------------------------------------------------------------------------------------

int64_t Groups(const NBitsWeights& w) { return GroupsOf(w); }
bool ByLimbs(const NBitsWeights& w) {
  static const bool dots = DotProduct::kPossible && DotProduct::Available();
  return dots && w.bits != 2;
}

bool QuantizeAll(const NBitsWeights& w, const float* a, const QuantizedRows& to) {
  return ChooseQuantizedForm(w, to.limbs, [](auto form) { return Quantize<decltype(form)>; })(w, a, to);
}

void MultiplyFew(const NBitsWeights& w, int64_t rows, const QuantizedRows& a, int64_t begin, int64_t end, const float* bias,
                 float* c, int64_t c_row) {
  const auto multiply = ChooseQuantizedForm(w, a.limbs, [rows](auto form) {
    using Form = decltype(form);
    return rows == 1   ? MultiplyAllRows<Form, 1>
           : rows == 2 ? MultiplyAllRows<Form, 2>
           : rows == 3 ? MultiplyAllRows<Form, 3>
                       : MultiplyAllRows<Form, 4>;
  });
  multiply(w, a, begin, end, bias, c, c_row);
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(Groups);
HWY_EXPORT(ByLimbs);
HWY_EXPORT(QuantizeAll);
HWY_EXPORT(MultiplyFew);

int64_t NBitsGroups(const NBitsWeights& weights) { return HWY_DYNAMIC_DISPATCH(Groups)(weights); }
bool MultipliesNBitsByLimbs(const NBitsWeights& weights) { return HWY_DYNAMIC_DISPATCH(ByLimbs)(weights); }
bool QuantizeForNBits(const NBitsWeights& weights, const float* a, const QuantizedRows& to) {
  return HWY_DYNAMIC_DISPATCH(QuantizeAll)(weights, a, to);
}
void MultiplyQuantizedNBits(const NBitsWeights& weights, int64_t rows, const QuantizedRows& a, int64_t begin, int64_t end,
                            const float* bias, float* c, int64_t c_row) {
  HWY_DYNAMIC_DISPATCH(MultiplyFew)(weights, rows, a, begin, end, bias, c, c_row);
}

}  // namespace tessera::cpu
#endif
