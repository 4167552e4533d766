// GEMM of many rows of A, as integers of one or three bytes, with panels of weights: tiles of rows times columns.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/nbits/quantized_panel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/work_array.h"
#include "kernels/gemm/nbits/quantized-inl.h"
#include "kernels/vector/pin-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kWidth = 2 * kLanes;  // columns of a panel
constexpr int kTileRows = HWY_TARGET == HWY_AVX3 ? 12 : 6;
constexpr int64_t kDepth = 512;         // k of a panel at a time: it stays in L1, beside as much of a tile's rows
constexpr int64_t kRowsTogether = 240;  // whose totals stay near
constexpr int64_t kDepthBlocks = kDepth / 16 + 1;

/// kWidth rows of weights over at most kDepth of k.
struct Panel {
  HWY_ALIGN uint32_t quantized[kDepth / 4 * kWidth];  // [group][half][column]
  HWY_ALIGN float scales[kDepthBlocks * kWidth];      // [block][column]
  HWY_ALIGN float offsets[kDepthBlocks * kWidth];     // scale times zero point, from the origin of the values
  int64_t group0, groups, block0, blocks;
};

/// Quantized values of one dword of a column, one a byte.
template <class Form, class D, class V>
HWY_INLINE void StoreQuantized(D d, V bytes, uint32_t* HWY_RESTRICT out) {
  if constexpr (Form::kBits == 4) {
    const V low = hn::Set(d, 0x0f0f0f0fu);
    hn::StoreU(hn::And(bytes, low), d, out);
    hn::StoreU(hn::And(hn::ShiftRight<4>(bytes), low), d, out + kWidth);
  } else {
    hn::StoreU(bytes, d, out);
  }
}

/// Of every fourth column the 16 bytes at `byte`, as many as fill a vector.
template <class D>
HWY_INLINE hn::Vec<D> LoadColumns(D d, const uint8_t* const* columns, int64_t byte) {
  constexpr size_t kDwords = hn::MaxLanes(D());
  if constexpr (kDwords == 4) {
    return hn::BitCast(d, hn::LoadU(hn::Repartition<uint8_t, D>(), columns[0] + byte));
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, LoadColumns(half, columns + kDwords / 2, byte), LoadColumns(half, columns, byte));
  }
}

/// Four dwords of kLanes columns: each block of a vector is a transposition of four by four.
template <class Form>
HWY_INLINE void PackFour(const uint8_t* const* columns, int64_t byte, uint32_t* HWY_RESTRICT out) {
  const hn::ScalableTag<uint32_t> d;
  const hn::Repartition<uint64_t, decltype(d)> d64;
  const auto r0 = LoadColumns(d, columns, byte), r1 = LoadColumns(d, columns + 1, byte);
  const auto r2 = LoadColumns(d, columns + 2, byte), r3 = LoadColumns(d, columns + 3, byte);
  const auto q0 = hn::BitCast(d64, hn::InterleaveLower(d, r0, r1)), q1 = hn::BitCast(d64, hn::InterleaveLower(d, r2, r3));
  const auto q2 = hn::BitCast(d64, hn::InterleaveUpper(d, r0, r1)), q3 = hn::BitCast(d64, hn::InterleaveUpper(d, r2, r3));
  constexpr int64_t kStep = Form::kHalves * kWidth;
  StoreQuantized<Form>(d, hn::BitCast(d, hn::InterleaveLower(d64, q0, q1)), out);
  StoreQuantized<Form>(d, hn::BitCast(d, hn::InterleaveUpper(d64, q0, q1)), out + kStep);
  StoreQuantized<Form>(d, hn::BitCast(d, hn::InterleaveLower(d64, q2, q3)), out + 2 * kStep);
  StoreQuantized<Form>(d, hn::BitCast(d, hn::InterleaveUpper(d64, q2, q3)), out + 3 * kStep);
}

template <class Form>
void Pack(const NBitsWeights& w, int64_t group0, int64_t n0, int64_t width, Panel& panel) {
  const int64_t row_bytes = w.blocks * w.block_bytes(), block_groups = w.block_bytes() / 4;
  panel.group0 = group0;
  panel.groups = std::min(kDepth / Form::kGroup, row_bytes / 4 - group0);
  panel.block0 = group0 / block_groups;
  panel.blocks = (group0 + panel.groups - 1) / block_groups + 1 - panel.block0;
  const bool centered = w.has_common_zero();
  constexpr float kCenter = Form::kCenter;
  const uint8_t* columns[kWidth];
  for (int64_t j = 0; j < kWidth; ++j) {
    const int64_t n = n0 + std::min(j, width - 1);
    columns[j] = w.quantized + n * row_bytes + group0 * 4;
    const float* scales = w.scales + n * w.blocks + panel.block0;
    for (int64_t b = 0; b < panel.blocks; ++b) panel.scales[b * kWidth + j] = scales[b];
    if (centered) continue;
    for (int64_t b = 0; b < panel.blocks; ++b)
      panel.offsets[b * kWidth + j] = scales[b] * (w.ZeroOf(n, panel.block0 + b) - kCenter);
  }
  const float zero = static_cast<float>(w.common_zero) - kCenter;
  for (int64_t i = 0; centered && i < panel.blocks * kWidth; ++i) panel.offsets[i] = panel.scales[i] * zero;
  constexpr int64_t kStep = Form::kHalves * kWidth;
  int64_t group = 0;
  for (; group + 4 <= panel.groups; group += 4) {
    for (int64_t j = 0; j < kWidth; j += kLanes)
      PackFour<Form>(columns + j, 4 * group, panel.quantized + group * kStep + j);
  }
  for (; group < panel.groups; ++group) {
    for (int64_t j = 0; j < kWidth; ++j) {
      uint32_t bytes;
      std::memcpy(&bytes, columns[j] + 4 * group, sizeof(bytes));
      const hn::FixedTag<uint32_t, 1> d;
      StoreQuantized<Form>(d, hn::Set(d, bytes), panel.quantized + group * kStep + j);
    }
  }
}

HWY_INLINE V8 Broadcast(const int8_t* from) {
  int32_t four;
  std::memcpy(&four, from, sizeof(four));
  return hn::BitCast(D8(), hn::Set(D32(), four));
}

/// Dot products of one dword of k with kRows rows of A.
template <class Form, int kRows>
HWY_INLINE void MultiplyDwords(const uint8_t* HWY_RESTRICT quantized, const int8_t* HWY_RESTRICT a, int64_t a_row,
                               typename Form::Accumulators (&acc)[kRows][2]) {
  const D8 d8;
  const V8 left = hn::Load(d8, quantized), right = hn::Load(d8, quantized + kVectorBytes);
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    const V8 with = Broadcast(a + r * a_row);
    acc[r][0] = Form::Add(acc[r][0], left, with);
    acc[r][1] = Form::Add(acc[r][1], right, with);
    Pin(acc[r][0]);
    Pin(acc[r][1]);
  }
}

/// Shifts the accumulators for the next limb.
template <class Form, int kRows>
HWY_INLINE void ShiftAccumulators(typename Form::Accumulators (&acc)[kRows][2]) {
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < 2; ++j) acc[r][j] = hn::ShiftLeft<8>(acc[r][j]);
  }
}

/// Adds the panel's GEMM with kRows rows of A to `totals`, which are kWidth apart. Units have kUnit integers.
template <class Form, int kRows, int kUnit>
void MultiplyTile(const NBitsWeights& w, const Panel& panel, const QuantizedRows& a, float* HWY_RESTRICT totals) {
  const DF d;
  const int64_t row_groups = GroupsOf(w), a_row = row_groups * Form::kGroup * Form::kLimbs;
  const int shift = std::countr_zero(static_cast<uint64_t>(w.block_bytes() / 4));
  constexpr int kUnitGroups = kUnit / static_cast<int>(Form::kGroup);
  static_assert((Form::kHalves == 1 && Form::kLimbs == 1) || kUnitGroups <= kLanes, "the groups of a unit are neighbours");
  constexpr int64_t kUnitBytes = kUnitGroups * Form::kHalves * 2 * kVectorBytes;
  const auto* unit_values = reinterpret_cast<const uint8_t*>(panel.quantized);
  for (int64_t group = panel.group0; group < panel.group0 + panel.groups; group += kUnitGroups, unit_values += kUnitBytes) {
    typename Form::Accumulators acc[kRows][2];
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) acc[r][0] = acc[r][1] = Form::Of(hn::Zero(D32()));
    const int8_t* limb_from = a.quantized + Form::Offset(group);
    for (int limb = 0; limb < Form::kLimbs; ++limb, limb_from += Form::kHalves * kVectorBytes) {
      if (limb > 0) ShiftAccumulators<Form, kRows>(acc);
      const uint8_t* quantized = unit_values;
      const int8_t* from = limb_from;
      for (int g = 0; g < kUnitGroups; ++g, from += 4) {
#pragma GCC unroll 2
        for (int half = 0; half < Form::kHalves; ++half, quantized += 2 * kVectorBytes) {
          MultiplyDwords<Form, kRows>(quantized, from + half * kVectorBytes, a_row, acc);
        }
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
        hn::Store(hn::MulAdd(hn::ConvertTo(d, Form::ToLanes(acc[r][j])), hn::Mul(scale[j], factor), centered), d, to);
      }
    }
  }
}

using TileFn = void (*)(const NBitsWeights&, const Panel&, const QuantizedRows&, float*);

template <class Form, int kUnit, size_t... kRows>
TileFn TileOf(std::index_sequence<kRows...>, int64_t rows) {
  constexpr TileFn tiles[] = {MultiplyTile<Form, static_cast<int>(kRows) + 1, kUnit>...};
  return tiles[rows - 1];
}

/// Columns [n, n + width) of c for the rows from m on that `totals` has begun, with all of k.
template <class Form>
void MultiplyPanels(const NBitsWeights& w, const QuantizedRows& a, int64_t rows, int64_t n, int64_t width, Panel& panel,
                    float* totals) {
  constexpr auto kSequence = std::make_index_sequence<kTileRows>();
  const int64_t groups = w.blocks * w.block_bytes() / 4, row_groups = GroupsOf(w);
  for (int64_t group = 0; group < groups; group += kDepth / Form::kGroup) {
    Pack<Form>(w, group, n, width, panel);
    for (int64_t m = 0; m < rows; m += kTileRows) {
      const int64_t some = std::min<int64_t>(kTileRows, rows - m);
      const TileFn multiply = w.block_size == 16 ? TileOf<Form, 16>(kSequence, some) : TileOf<Form, 32>(kSequence, some);
      multiply(w, panel, a.From(w, row_groups, m), totals + m * kWidth);
    }
  }
}

template <class Form>
void MultiplyMany(const NBitsWeights& w, const QuantizedRows& a, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                  const float* bias, float* c, int64_t c_row) {
  const WorkArray<Panel> workspace(1);
  Panel& panel = workspace[0];
  const WorkArray<float> totals(kRowsTogether * kWidth);
  const int64_t row_groups = GroupsOf(w);
  for (int64_t n = n0; n < n1; n += kWidth) {
    const int64_t width = std::min(kWidth, n1 - n);
    for (int64_t m = m0; m < m1; m += kRowsTogether) {
      const int64_t rows = std::min(kRowsTogether, m1 - m);
      std::fill_n(totals.data(), rows * kWidth, 0.0f);
      for (int64_t r = 0; r < rows && bias != nullptr; ++r) std::copy_n(bias + n, width, totals + r * kWidth);
      MultiplyPanels<Form>(w, a.From(w, row_groups, m), rows, n, width, panel, totals);
      for (int64_t r = 0; r < rows; ++r) std::copy_n(totals + r * kWidth, width, c + (m + r) * c_row + n);
    }
  }
}

int64_t Width() { return kWidth; }
void ManyAll(const NBitsWeights& w, const QuantizedRows& a, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
             const float* bias, float* c, int64_t c_row) {
  ChooseQuantizedForm(w, a.limbs, [](auto form) { return MultiplyMany<decltype(form)>; })(w, a, m0, m1, n0, n1, bias, c,
                                                                                          c_row);
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(Width);
HWY_EXPORT(ManyAll);

int64_t QuantizedNBitsWidth() { return HWY_DYNAMIC_DISPATCH(Width)(); }
void MultiplyQuantizedNBitsPanels(const NBitsWeights& weights, const QuantizedRows& a, int64_t m0, int64_t m1, int64_t n0,
                                  int64_t n1, const float* bias, float* c, int64_t c_row) {
  HWY_DYNAMIC_DISPATCH(ManyAll)(weights, a, m0, m1, n0, n1, bias, c, c_row);
}

}  // namespace tessera::cpu
#endif
