// Products of weights with rows of A that are quantized to 8 bits, each unit of at most 32 numbers with a scale of its own. The
// multiply-add of bytes yields sums of 16 bits: with codes of 4 bits 16 products fit into them, with codes below 128 the two of
// one lane do. So all that is rounded is A.

#include "base/rounding.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/nbits_int8.cpp"
#include <hwy/foreach_target.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "simd/dot-inl.h"
#include "simd/nbits_int8.h"
#include "simd/nbits_zeros-inl.h"
#include "simd/pin-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using D32 = hn::ScalableTag<int32_t>;
using D16 = hn::ScalableTag<int16_t>;
using D8 = hn::ScalableTag<uint8_t>;
using VF = hn::Vec<DF>;
using V32 = hn::Vec<D32>;
using V16 = hn::Vec<D16>;
using V8 = hn::Vec<D8>;

constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(int32_t));
constexpr int64_t kVectorBytes = 4 * kLanes;
/// Weights in a lane of 4 bytes. Of 4 bits, the even ones and the odd ones meet a lane of A each.
template <int kBits>
constexpr int64_t kGroup = 32 / kBits;
/// Lanes of A, and of unpacked codes, that a lane of weights meets.
template <int kBits>
constexpr int64_t kHalves = 8 / kBits;
constexpr int64_t kWidth = 2 * kLanes;                                // columns of a panel
constexpr int kTileRows = HWY_TARGET == HWY_AVX3 ? 12 : 6;
constexpr int64_t kDepth = 1024;                                      // k of a panel at a time: it stays in L1
constexpr int64_t kDepthBlocks = kDepth / 16 + 1;

/// Each 16 bits: the sum of two products of a code and a signed byte.
HWY_INLINE V16 MultiplyBytes(V8 codes, V8 a) {
#if HWY_TARGET == HWY_AVX3
  return V16{_mm512_maddubs_epi16(codes.raw, a.raw)};
#elif HWY_TARGET == HWY_AVX2
  return V16{_mm256_maddubs_epi16(codes.raw, a.raw)};
#else
  return V16{_mm_maddubs_epi16(codes.raw, a.raw)};
#endif
}

HWY_INLINE V32 AddPairs(V16 sums) {
  const V16 ones = hn::Set(D16(), 1);
#if HWY_TARGET == HWY_AVX3
  return V32{_mm512_madd_epi16(sums.raw, ones.raw)};
#elif HWY_TARGET == HWY_AVX2
  return V32{_mm256_madd_epi16(sums.raw, ones.raw)};
#else
  return V32{_mm_madd_epi16(sums.raw, ones.raw)};
#endif
}

/// Sums of a unit by pairs of products: of 16 bits where they cannot overflow.
template <int kBits>
struct PairSums {
  using Sums = std::conditional_t<kBits == 4, V16, V32>;

  static HWY_INLINE Sums Zero() {
    if constexpr (kBits == 4) return hn::Zero(D16());
    else return hn::Zero(D32());
  }
  /// One lane of 32 bits to begin with, of what its two pairs of bytes begin with.
  static int32_t Start(int32_t low, int32_t high) {
    return kBits == 4 ? static_cast<int32_t>((static_cast<uint32_t>(high) << 16) | (static_cast<uint32_t>(low) & 0xffff)) : low + high;
  }
  static HWY_INLINE Sums Begin(const int32_t* starts) {
    const V32 lanes = hn::LoadU(D32(), starts);
    if constexpr (kBits == 4) return hn::BitCast(D16(), lanes);
    else return lanes;
  }
  static HWY_INLINE Sums Add(Sums sums, V8 codes, V8 a) {
    if constexpr (kBits == 4) return hn::Add(sums, MultiplyBytes(codes, a));
    else return hn::Add(sums, AddPairs(MultiplyBytes(codes, a)));
  }
  static HWY_INLINE VF ToFloat(Sums sums) {
    if constexpr (kBits == 4) return hn::ConvertTo(DF(), AddPairs(sums));
    else return hn::ConvertTo(DF(), sums);
  }
};

/// The same by dot products.
struct DotSums {
  using Sums = V32;

  static HWY_INLINE Sums Zero() { return hn::Zero(D32()); }
  static int32_t Start(int32_t low, int32_t high) { return low + high; }
  static HWY_INLINE Sums Begin(const int32_t* starts) { return hn::LoadU(D32(), starts); }
  static HWY_INLINE Sums Add(Sums sums, V8 codes, V8 a) { return DotProduct().Add(sums, codes, a); }
  static HWY_INLINE VF ToFloat(Sums sums) { return hn::ConvertTo(DF(), sums); }
};

bool UsesDots() {
  static const bool uses = DotProduct::kPossible && DotProduct::Available();
  return uses;
}

int64_t UnitOf(const NBitsWeights& w) { return std::min<int64_t>(w.block_size, 32); }
int64_t Groups(const NBitsWeights& w) {
  const int64_t groups = w.blocks * w.block_bytes() / 4;
  return RoundUp(groups, kLanes);
}

/// Where the first lane of a group lies in an arranged row; the second follows kVectorBytes later.
template <int kBits>
HWY_INLINE int64_t GroupOffset(int64_t group) {
  return group / kLanes * kHalves<kBits> * kVectorBytes + group % kLanes * 4;
}

/// What sums of `codes`, a group of A, with weights begin with, so that weights count from their common zero point.
template <class Unit, int kBits>
int32_t StartOf(const NBitsWeights& w, const int8_t* codes) {
  if (!w.has_common_zero()) return 0;
  int32_t pairs[2] = {};
  for (int64_t half = 0; half < kHalves<kBits>; ++half) {
    for (int i = 0; i < 4; ++i) pairs[i / 2] -= w.common_zero * codes[half * kVectorBytes + i];
  }
  return Unit::Start(pairs[0], pairs[1]);
}

template <class Unit, int kBits>
void Quantize(const NBitsWeights& w, const float* a, const QuantizedRows& to) {
  const DF d;
  const int64_t unit = UnitOf(w), groups = Groups(w);
  std::fill_n(to.block_sums, w.blocks, 0.0f);
  for (int64_t g = w.blocks * w.block_bytes() / 4; g < groups; ++g) {
    to.scales[g] = 0;
    to.starts[g] = 0;
  }
  std::memset(to.codes, 0, static_cast<size_t>(groups * kGroup<kBits>));
  const int shift = std::countr_zero(static_cast<uint64_t>(w.block_size));
  HWY_ALIGN float values[32];
  HWY_ALIGN int32_t codes[32];
  for (int64_t k0 = 0; k0 < w.blocks << shift; k0 += unit) {
    const int64_t count = std::clamp<int64_t>(w.k - k0, 0, unit);
    std::copy_n(a + std::min(k0, w.k), count, values);
    std::fill(values + count, values + unit, 0.0f);
    VF most = hn::Zero(d);
    for (int64_t i = 0; i < unit; i += kLanes) most = hn::Max(most, hn::Abs(hn::Load(d, values + i)));
    const float scale = hn::GetLane(hn::MaxOfLanes(d, most)) / 127.0f;
    const VF inverse = hn::Set(d, scale > 0 ? 1.0f / scale : 0.0f);
    V32 sum = hn::Zero(D32());
    for (int64_t i = 0; i < unit; i += kLanes) {
      // Bounds keep what is not finite, and inverses that are not, in range.
      const VF scaled = hn::Min(hn::Max(hn::Mul(hn::Load(d, values + i), inverse), hn::Set(d, -127.0f)), hn::Set(d, 127.0f));
      const V32 rounded = hn::NearestInt(scaled);
      sum = hn::Add(sum, rounded);
      hn::Store(rounded, D32(), codes + i);
    }
    const float unit_sum = scale * static_cast<float>(hn::GetLane(hn::SumOfLanes(D32(), sum)));
    to.unit_sums[k0 / kGroup<kBits>] = unit_sum;
    to.block_sums[k0 >> shift] += unit_sum;
    for (int64_t g = 0; g < unit / kGroup<kBits>; ++g) {
      const int64_t group = k0 / kGroup<kBits> + g;
      to.scales[group] = scale;
      int8_t* first = to.codes + GroupOffset<kBits>(group);
      for (int64_t i = 0; i < kGroup<kBits>; ++i) {
        first[i % kHalves<kBits> * kVectorBytes + i / kHalves<kBits>] = static_cast<int8_t>(codes[g * kGroup<kBits> + i]);
      }
      to.starts[group] = StartOf<Unit, kBits>(w, first);
    }
  }
}

// --- few rows of A: a row of weights at a time -------------------------------------------------------------------------------

template <class Unit, int kBits, int kRows>
void MultiplyRows(const NBitsWeights& w, const QuantizedRows& a, int64_t begin, int64_t end, const float* bias, float* c, int64_t c_row) {
  const DF d;
  const D8 d8;
  const int64_t groups = Groups(w), a_row = groups * kGroup<kBits>, row_bytes = w.blocks * w.block_bytes();
  const int shift = std::countr_zero(static_cast<uint64_t>(w.block_bytes()));
  const bool shared = w.block_bytes() < kVectorBytes;
  HWY_ALIGN int32_t block_of_lane[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane) block_of_lane[lane] = static_cast<int32_t>(shared ? (4 * lane) >> shift : 0);
  const auto spread = hn::SetTableIndices(d, block_of_lane);
  const V8 low = hn::Set(d8, 15);
  constexpr int64_t kAhead = 4096;  // bytes: the processor's own prefetching ends with the page
  for (int64_t row = begin; row < end; ++row) {
    const uint8_t* HWY_RESTRICT codes = w.codes + row * row_bytes;
    const float* HWY_RESTRICT scales = w.scales + row * w.blocks;
    const int64_t readable = (w.n - row) * w.blocks;
    // Two sums, so that one vector does not wait for the one before.
    VF total[2][kRows];
    for (int r = 0; r < kRows; ++r) total[0][r] = total[1][r] = hn::Zero(d);
    const auto add = [&](V8 bytes, VF scale, int64_t byte, VF (&to)[kRows]) HWY_ATTR {
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const auto* with = reinterpret_cast<const uint8_t*>(a.codes + r * a_row + kHalves<kBits> * byte);
        typename Unit::Sums sum = Unit::Begin(a.starts + r * groups + byte / 4);
        if constexpr (kBits == 4) {
          const V8 odd = hn::And(hn::BitCast(d8, hn::ShiftRight<4>(hn::BitCast(D16(), bytes))), low);
          sum = Unit::Add(sum, hn::And(bytes, low), hn::LoadU(d8, with));
          sum = Unit::Add(sum, odd, hn::LoadU(d8, with + kVectorBytes));
        } else {
          sum = Unit::Add(sum, bytes, hn::LoadU(d8, with));
        }
        const VF factor = hn::Mul(scale, hn::LoadU(d, a.scales + r * groups + byte / 4));
        to[r] = hn::MulAdd(Unit::ToFloat(sum), factor, to[r]);
      }
    };
    const auto scales_at = [&](int64_t block) HWY_ATTR {
      if (!shared) return hn::Set(d, scales[block]);
      if (HWY_LIKELY(block + kLanes <= readable)) return hn::TableLookupLanes(hn::LoadU(d, scales + block), spread);
      HWY_ALIGN float last[kLanes] = {};
      for (int64_t i = 0; i < w.blocks - block && i < kLanes; ++i) last[i] = scales[block + i];
      return hn::TableLookupLanes(hn::Load(d, last), spread);
    };
    int64_t byte = 0;
    const auto add_at = [&](int64_t at, VF (&to)[kRows]) HWY_ATTR { add(hn::LoadU(d8, codes + at), scales_at(at >> shift), at, to); };
    for (; byte + 2 * kVectorBytes <= row_bytes; byte += 2 * kVectorBytes) {
      hwy::Prefetch(codes + byte + kAhead);
      add_at(byte, total[0]);
      add_at(byte + kVectorBytes, total[1]);
    }
    for (; byte + kVectorBytes <= row_bytes; byte += kVectorBytes) add_at(byte, total[0]);
    if (byte < row_bytes) {
      HWY_ALIGN uint8_t last[kVectorBytes] = {};
      std::memcpy(last, codes + byte, static_cast<size_t>(row_bytes - byte));
      add(hn::Load(d8, last), scales_at(byte >> shift), byte, total[1]);
    }
    for (int r = 0; r < kRows; ++r) total[0][r] = hn::Add(total[0][r], total[1][r]);
    if (!w.has_common_zero()) SubtractZeroProducts<kBits, kRows>(w, row, a.block_sums, total[0]);
    for (int r = 0; r < kRows; ++r) {
      const float value = hn::GetLane(hn::SumOfLanes(d, total[0][r]));
      c[r * c_row + row] = bias == nullptr ? value : value + bias[row];
    }
  }
}

template <class Unit, int kBits>
void MultiplyFew(const NBitsWeights& w, int64_t rows, const QuantizedRows& a, int64_t begin, int64_t end, const float* bias, float* c,
                 int64_t c_row) {
  const auto multiply = rows == 1   ? MultiplyRows<Unit, kBits, 1>
                        : rows == 2 ? MultiplyRows<Unit, kBits, 2>
                        : rows == 3 ? MultiplyRows<Unit, kBits, 3>
                                    : MultiplyRows<Unit, kBits, 4>;
  multiply(w, a, begin, end, bias, c, c_row);
}

// --- many rows of A: tiles of them times panels of weights -------------------------------------------------------------------

/// kWidth rows of weights over at most kDepth of k.
struct Panel {
  HWY_ALIGN uint32_t codes[kDepth / 4 * kWidth];             // [group][half][column]
  HWY_ALIGN float scales[kDepthBlocks * kWidth];   // [block][column]
  HWY_ALIGN float offsets[kDepthBlocks * kWidth];  // scale times zero point
  int64_t group0, groups, block0, blocks;
};

/// Codes of one dword of a column, one a byte.
template <int kBits, class D, class V>
HWY_INLINE void StoreCodes(D d, V bytes, uint32_t* HWY_RESTRICT out) {
  if constexpr (kBits == 4) {
    const V low = hn::Set(d, 0x0f0f0f0fu);
    hn::StoreU(hn::And(bytes, low), d, out);
    hn::StoreU(hn::And(hn::ShiftRight<4>(bytes), low), d, out + kWidth);
  } else {
    hn::StoreU(bytes, d, out);
  }
}

/// Four dwords of four columns.
template <int kBits>
HWY_INLINE void PackFour(const uint8_t* const* columns, int64_t byte, uint32_t* HWY_RESTRICT out) {
  const hn::FixedTag<uint32_t, 4> d;
  const hn::Repartition<uint64_t, decltype(d)> d64;
  const hn::Repartition<uint8_t, decltype(d)> d8;
  const auto load = [&](int i) HWY_ATTR { return hn::BitCast(d, hn::LoadU(d8, columns[i] + byte)); };
  const auto r0 = load(0), r1 = load(1), r2 = load(2), r3 = load(3);
  const auto q0 = hn::BitCast(d64, hn::InterleaveLower(d, r0, r1)), q1 = hn::BitCast(d64, hn::InterleaveLower(d, r2, r3));
  const auto q2 = hn::BitCast(d64, hn::InterleaveUpper(d, r0, r1)), q3 = hn::BitCast(d64, hn::InterleaveUpper(d, r2, r3));
  constexpr int64_t kStep = kHalves<kBits> * kWidth;
  StoreCodes<kBits>(d, hn::BitCast(d, hn::InterleaveLower(d64, q0, q1)), out);
  StoreCodes<kBits>(d, hn::BitCast(d, hn::InterleaveUpper(d64, q0, q1)), out + kStep);
  StoreCodes<kBits>(d, hn::BitCast(d, hn::InterleaveLower(d64, q2, q3)), out + 2 * kStep);
  StoreCodes<kBits>(d, hn::BitCast(d, hn::InterleaveUpper(d64, q2, q3)), out + 3 * kStep);
}

template <int kBits>
void Pack(const NBitsWeights& w, int64_t group0, int64_t n0, int64_t width, Panel& panel) {
  const int64_t row_bytes = w.blocks * w.block_bytes(), block_groups = w.block_bytes() / 4;
  panel.group0 = group0;
  panel.groups = std::min(kDepth / kGroup<kBits>, row_bytes / 4 - group0);
  panel.block0 = group0 / block_groups;
  panel.blocks = (group0 + panel.groups - 1) / block_groups + 1 - panel.block0;
  const bool centered = w.has_common_zero();
  const uint8_t* columns[kWidth];
  for (int64_t j = 0; j < kWidth; ++j) {
    const int64_t n = n0 + std::min(j, width - 1);
    columns[j] = w.codes + n * row_bytes + group0 * 4;
    const float* scales = w.scales + n * w.blocks + panel.block0;
    for (int64_t b = 0; b < panel.blocks; ++b) panel.scales[b * kWidth + j] = scales[b];
    if (centered) continue;
    for (int64_t b = 0; b < panel.blocks; ++b) panel.offsets[b * kWidth + j] = scales[b] * w.ZeroOf(n, panel.block0 + b);
  }
  const auto zero = static_cast<float>(w.common_zero);
  for (int64_t i = 0; centered && i < panel.blocks * kWidth; ++i) panel.offsets[i] = panel.scales[i] * zero;
  constexpr int64_t kStep = kHalves<kBits> * kWidth;
  int64_t group = 0;
  for (; group + 4 <= panel.groups; group += 4) {
    for (int64_t j = 0; j < kWidth; j += 4) PackFour<kBits>(columns + j, 4 * group, panel.codes + group * kStep + j);
  }
  for (; group < panel.groups; ++group) {
    for (int64_t j = 0; j < kWidth; ++j) {
      uint32_t bytes;
      std::memcpy(&bytes, columns[j] + 4 * group, sizeof(bytes));
      const hn::FixedTag<uint32_t, 1> d;
      StoreCodes<kBits>(d, hn::Set(d, bytes), panel.codes + group * kStep + j);
    }
  }
}

HWY_INLINE V8 Broadcast(const int8_t* from) {
  int32_t four;
  std::memcpy(&four, from, sizeof(four));
  return hn::BitCast(D8(), hn::Set(D32(), four));
}

/// Codes of one dword of k times kRows rows of A.
template <class Unit, int kRows>
HWY_INLINE void MultiplyDwords(const uint8_t* HWY_RESTRICT codes, const int8_t* HWY_RESTRICT a, int64_t a_row,
                               typename Unit::Sums (&sums)[kRows][2]) {
  const D8 d8;
  const V8 left = hn::Load(d8, codes), right = hn::Load(d8, codes + kVectorBytes);
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    const V8 with = Broadcast(a + r * a_row);
    sums[r][0] = Unit::Add(sums[r][0], left, with);
    sums[r][1] = Unit::Add(sums[r][1], right, with);
    Pin(sums[r][0]);
    Pin(sums[r][1]);
  }
}

/// Adds the panel's products with kRows rows of A to `totals`, which are kWidth apart. Units have kUnit numbers.
template <class Unit, int kBits, int kRows, int kUnit>
void MultiplyTile(const NBitsWeights& w, const Panel& panel, const QuantizedRows& a, float* HWY_RESTRICT totals) {
  const DF d;
  const int64_t row_groups = Groups(w), a_row = row_groups * kGroup<kBits>;
  const int shift = std::countr_zero(static_cast<uint64_t>(w.block_bytes() / 4));
  constexpr int kUnitGroups = kUnit / static_cast<int>(kGroup<kBits>);
  static_assert(kHalves<kBits> == 1 || kUnitGroups <= kLanes, "the groups of a unit are neighbours");
  const auto* codes = reinterpret_cast<const uint8_t*>(panel.codes);
  for (int64_t group = panel.group0; group < panel.group0 + panel.groups; group += kUnitGroups) {
    typename Unit::Sums sums[kRows][2];
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) sums[r][0] = sums[r][1] = Unit::Zero();
    const int8_t* from = a.codes + GroupOffset<kBits>(group);
    for (int g = 0; g < kUnitGroups; ++g, from += 4) {
#pragma GCC unroll 2
      for (int half = 0; half < kHalves<kBits>; ++half, codes += 2 * kVectorBytes) {
        MultiplyDwords<Unit, kRows>(codes, from + half * kVectorBytes, a_row, sums);
      }
    }
    const int64_t block = ((group >> shift) - panel.block0) * kWidth;
    const VF scale[2] = {hn::Load(d, panel.scales + block), hn::Load(d, panel.scales + block + kLanes)};
    const VF offset[2] = {hn::Load(d, panel.offsets + block), hn::Load(d, panel.offsets + block + kLanes)};
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const VF factor = hn::Set(d, a.scales[r * row_groups + group]), sum = hn::Set(d, a.unit_sums[r * row_groups + group]);
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j) {
        float* to = totals + r * kWidth + j * kLanes;
        const VF centered = hn::NegMulAdd(offset[j], sum, hn::Load(d, to));
        hn::Store(hn::MulAdd(Unit::ToFloat(sums[r][j]), hn::Mul(scale[j], factor), centered), d, to);
      }
    }
  }
}

using TileFn = void (*)(const NBitsWeights&, const Panel&, const QuantizedRows&, float*);

template <class Unit, int kBits, int kUnit, size_t... kRows>
TileFn TileOf(std::index_sequence<kRows...>, int64_t rows) {
  constexpr TileFn tiles[] = {MultiplyTile<Unit, kBits, static_cast<int>(kRows) + 1, kUnit>...};
  return tiles[rows - 1];
}

/// Copies kWidth floats, or fewer.
HWY_INLINE void CopyRow(const float* from, int64_t width, float* to) {
  const DF d;
  if (width < kWidth) {
    std::copy_n(from, width, to);
    return;
  }
  hn::StoreU(hn::LoadU(d, from), d, to);
  hn::StoreU(hn::LoadU(d, from + kLanes), d, to + kLanes);
}

template <class Unit, int kBits>
void MultiplyMany(const NBitsWeights& w, const QuantizedRows& a, int64_t m0, int64_t m1, int64_t n0, int64_t n1, const float* bias,
                  float* c, int64_t c_row) {
  constexpr auto kSequence = std::make_index_sequence<kTileRows>();
  Panel panel;
  HWY_ALIGN float totals[kTileRows * kWidth];
  const int64_t groups = w.blocks * w.block_bytes() / 4, row_groups = Groups(w);
  for (int64_t n = n0; n < n1; n += kWidth) {
    const int64_t width = std::min(kWidth, n1 - n);
    for (int64_t group = 0; group < groups; group += kDepth / kGroup<kBits>) {
      Pack<kBits>(w, group, n, width, panel);
      for (int64_t m = m0; m < m1; m += kTileRows) {
        const int64_t rows = std::min<int64_t>(kTileRows, m1 - m);
        std::fill_n(totals, kTileRows * kWidth, 0.0f);
        for (int64_t r = 0; r < rows; ++r) {
          if (group > 0) CopyRow(c + (m + r) * c_row + n, width, totals + r * kWidth);
          else if (bias != nullptr) CopyRow(bias + n, width, totals + r * kWidth);
        }
        const QuantizedRows tile = a.From(w, row_groups, m);
        (w.block_size == 16 ? TileOf<Unit, kBits, 16>(kSequence, rows) : TileOf<Unit, kBits, 32>(kSequence, rows))(w, panel, tile, totals);
        for (int64_t r = 0; r < rows; ++r) CopyRow(totals + r * kWidth, width, c + (m + r) * c_row + n);
      }
    }
  }
}

int64_t Width() { return kWidth; }
void QuantizeAll(const NBitsWeights& w, const float* a, const QuantizedRows& to) {
  const auto by_pairs = w.bits == 4 ? Quantize<PairSums<4>, 4> : Quantize<PairSums<8>, 8>;
  const auto by_dots = w.bits == 4 ? Quantize<DotSums, 4> : Quantize<DotSums, 8>;
  (UsesDots() ? by_dots : by_pairs)(w, a, to);
}
void FewAll(const NBitsWeights& w, int64_t rows, const QuantizedRows& a, int64_t begin, int64_t end, const float* bias, float* c,
            int64_t c_row) {
  const auto by_pairs = w.bits == 4 ? MultiplyFew<PairSums<4>, 4> : MultiplyFew<PairSums<8>, 8>;
  const auto by_dots = w.bits == 4 ? MultiplyFew<DotSums, 4> : MultiplyFew<DotSums, 8>;
  (UsesDots() ? by_dots : by_pairs)(w, rows, a, begin, end, bias, c, c_row);
}
void ManyAll(const NBitsWeights& w, const QuantizedRows& a, int64_t m0, int64_t m1, int64_t n0, int64_t n1, const float* bias, float* c,
             int64_t c_row) {
  const auto by_pairs = w.bits == 4 ? MultiplyMany<PairSums<4>, 4> : MultiplyMany<PairSums<8>, 8>;
  const auto by_dots = w.bits == 4 ? MultiplyMany<DotSums, 4> : MultiplyMany<DotSums, 8>;
  (UsesDots() ? by_dots : by_pairs)(w, a, m0, m1, n0, n1, bias, c, c_row);
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(Groups);
HWY_EXPORT(Width);
HWY_EXPORT(QuantizeAll);
HWY_EXPORT(FewAll);
HWY_EXPORT(ManyAll);

int64_t NBitsGroups(const NBitsWeights& weights) { return HWY_DYNAMIC_DISPATCH(Groups)(weights); }
int64_t NBitsInt8Width() { return HWY_DYNAMIC_DISPATCH(Width)(); }
void QuantizeForNBits(const NBitsWeights& weights, const float* a, const QuantizedRows& to) {
  HWY_DYNAMIC_DISPATCH(QuantizeAll)(weights, a, to);
}
void MultiplyNBitsInt8(const NBitsWeights& weights, int64_t rows, const QuantizedRows& a, int64_t begin, int64_t end, const float* bias,
                       float* c, int64_t c_row) {
  HWY_DYNAMIC_DISPATCH(FewAll)(weights, rows, a, begin, end, bias, c, c_row);
}
void MultiplyNBitsInt8Panels(const NBitsWeights& weights, const QuantizedRows& a, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                             const float* bias, float* c, int64_t c_row) {
  HWY_DYNAMIC_DISPATCH(ManyAll)(weights, a, m0, m1, n0, n1, bias, c, c_row);
}

}  // namespace tessera::cpu
#endif
