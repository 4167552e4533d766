// Products of unsigned bytes with constant signed bytes.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/gemm_u8s8.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "simd/codes-inl.h"
#include "simd/gemm_u8s8_kernels.h"
#include "simd/pair_corrections.h"
#include "simd/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::ScalableTag<int32_t>;
using D16 = hn::ScalableTag<int16_t>;
using D8 = hn::ScalableTag<uint8_t>;
using DF = hn::ScalableTag<float>;
using V32 = hn::Vec<D32>;
using V16 = hn::Vec<D16>;
using V8 = hn::Vec<D8>;

constexpr int kLanes = static_cast<int>(HWY_LANES(int32_t));
constexpr int kWidth = 2 * kLanes;
constexpr int64_t kRecord = 4 * kWidth;  // bytes of a group of a panel
// A tile keeps its sums of 16 and of 32 bits in registers.
constexpr int kRows = HWY_TARGET == HWY_AVX3 ? 6 : 3;
constexpr int kWideRows = 2 * kRows;  // no sums of 16 bits

#if HWY_ARCH_X86
constexpr bool kAvailable = true;

/// Pairs of products, unsigned with signed.
HWY_INLINE V16 MultiplyPairs(V8 a, V8 b) {
#if HWY_TARGET == HWY_AVX3
  return V16{_mm512_maddubs_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_AVX2
  return V16{_mm256_maddubs_epi16(a.raw, b.raw)};
#else
  return V16{_mm_maddubs_epi16(a.raw, b.raw)};
#endif
}
/// Sums of pairs.
HWY_INLINE V32 Widen(V16 a, V16 one) {
#if HWY_TARGET == HWY_AVX3
  return V32{_mm512_madd_epi16(a.raw, one.raw)};
#elif HWY_TARGET == HWY_AVX2
  return V32{_mm256_madd_epi16(a.raw, one.raw)};
#else
  return V32{_mm_madd_epi16(a.raw, one.raw)};
#endif
}
#else
constexpr bool kAvailable = false;
HWY_INLINE V16 MultiplyPairs(V8, V8) { return hn::Zero(D16()); }
HWY_INLINE V32 Widen(V16, V16) { return hn::Zero(D32()); }
#endif

/// Keeps the compiler from adding sums up in another order, which would take more registers than there are.
HWY_INLINE void Pin(V16& sum) {
#if HWY_ARCH_X86
  asm volatile("" : "+v"(sum.raw));
#else
  static_cast<void>(sum);
#endif
}

HWY_INLINE V8 Broadcast(const uint8_t* from) {
  int32_t four;
  std::memcpy(&four, from, sizeof(four));
  return hn::BitCast(D8(), hn::Set(D32(), four));
}

struct TileArgs {
  const uint8_t* left;
  int64_t left_row;
  const uint8_t* right;
  int64_t segments;
  bool add;  // to the sums that are there
  const uint8_t* groups;  // the first of the operand without offsets
  const int64_t* extra_groups;
  const uint8_t* extras;
  int64_t extra_count;
};

/// The sums of a tile so far: zeros, or what `out` holds.
template <int R, int N>
HWY_INLINE void StartSums(bool add, const int32_t* out, V32 (&acc)[R][N]) {
  const D32 d32;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) acc[r][j] = add ? hn::Load(d32, out + r * kWidth + j * kLanes) : hn::Zero(d32);
  }
}

template <int R, int N>
HWY_INLINE void StoreSums(const V32 (&acc)[R][N], int32_t* out) {
  const D32 d32;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) hn::Store(acc[r][j], d32, out + r * kWidth + j * kLanes);
  }
}

/// Groups that stand aside.
template <bool kVectors, int R, int N>
HWY_INLINE void AddExtras(const TileArgs& args, int64_t left_row, V32 (&acc)[R][N]) {
  constexpr int64_t kLeftRecord = 4 * kRows;
  const D8 d8;
  for (int64_t e = 0; e < args.extra_count; ++e) {
    const uint8_t* a = kVectors ? args.groups + 4 * args.extra_groups[e] : args.extras + e * kLeftRecord;
    const uint8_t* b = kVectors ? args.extras + e * kRecord : args.groups + args.extra_groups[e] * kRecord;
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const V8 av = Broadcast(a + r * left_row);
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) {
        const V8 bv = hn::LoadU(d8, b + j * 4 * kLanes);
        acc[r][j] = hn::Add(acc[r][j], Widen(kVectors ? MultiplyPairs(av, bv) : MultiplyPairs(bv, av), hn::Set(D16(), 1)));
      }
    }
  }
}

/// R rows by N vectors of sums, each group of which widens at once.
template <bool kVectors, int R, int N>
void PlainTile(const TileArgs& args, int32_t* out) {
  const D8 d8;
  V16 one = hn::Set(D16(), 1);
  Pin(one);
  V32 acc[R][N];
  StartSums(args.add, out, acc);
  const uint8_t* left = args.left;
  const uint8_t* right = args.right;
  const int64_t left_row = kVectors ? args.left_row : 4;
  for (int64_t s = 0; s < args.segments; ++s) {
    V8 b[N];
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) b[j] = hn::LoadU(d8, right + j * 4 * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const V8 a = Broadcast(left + r * left_row);
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) acc[r][j] = hn::Add(acc[r][j], Widen(kVectors ? MultiplyPairs(a, b[j]) : MultiplyPairs(b[j], a), one));
    }
    right += kRecord;
    left += kVectors ? 4 : 4 * kRows;
  }
  AddExtras<kVectors>(args, left_row, acc);
  StoreSums(acc, out);
}

/// The same, `D` groups of which sum in 16 bits. kVectors: the lines are on the right, else on the left, where the records are of
/// kRows lines.
template <bool kVectors, int D, int R, int N>
void Tile(const TileArgs& args, int32_t* out) {
  constexpr int64_t kLeftRecord = 4 * kRows;
  const D8 d8;
  const D16 d16;
  V32 acc[R][N];
  StartSums(args.add, out, acc);
  const uint8_t* left = args.left;
  const uint8_t* right = args.right;
  const int64_t left_row = kVectors ? args.left_row : 4;
  for (int64_t s = 0; s < args.segments; ++s) {
    V16 sums[R][N];
    if constexpr (kVectors) {
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) {
        const V16 offset = hn::BitCast(d16, hn::LoadU(d8, right + j * 4 * kLanes));
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) sums[r][j] = offset;
      }
      right += kRecord;
    } else {
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const V16 offset = hn::BitCast(d16, Broadcast(left + 4 * r));
#pragma GCC unroll 2
        for (int j = 0; j < N; ++j) sums[r][j] = offset;
      }
      left += kLeftRecord;
    }
#pragma GCC unroll 4
    for (int d = 0; d < D; ++d) {
      V8 b[N];
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) b[j] = hn::LoadU(d8, right + j * 4 * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const V8 a = Broadcast(left + r * left_row);
#pragma GCC unroll 2
        for (int j = 0; j < N; ++j) {
          sums[r][j] = hn::Add(sums[r][j], kVectors ? MultiplyPairs(a, b[j]) : MultiplyPairs(b[j], a));
          Pin(sums[r][j]);
        }
      }
      right += kRecord;
      left += kVectors ? 4 : kLeftRecord;
    }
    V16 one = hn::Set(d16, 1);
    Pin(one);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) acc[r][j] = hn::Add(acc[r][j], Widen(sums[r][j], one));
    }
  }
  AddExtras<kVectors>(args, left_row, acc);
  StoreSums(acc, out);
}

/// The same of products of 16 bits, where the records on the left are of kWideRows lines.
template <bool kVectors, int R, int N>
void WideTile(const TileArgs& args, int32_t* out) {
  const D16 d16;
  const D32 d32;
  const D8 d8;
  V32 acc[R][N];
  StartSums(args.add, out, acc);
  const uint8_t* left = args.left;
  const uint8_t* right = args.right;
  const int64_t left_row = kVectors ? args.left_row : 4;
  V32 unused = hn::Zero(d32);
  for (int64_t s = 0; s < args.segments; ++s) {
    V16 b[N];
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) b[j] = hn::BitCast(d16, hn::LoadU(d8, right + j * 4 * kLanes));
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const V16 a = hn::BitCast(d16, Broadcast(left + r * left_row));
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) acc[r][j] = hn::ReorderWidenMulAccumulate(d32, a, b[j], acc[r][j], unused);
    }
    right += kRecord;
    left += kVectors ? 4 : 4 * kWideRows;
  }
  StoreSums(acc, out);
}

using TileFn = void (*)(const TileArgs&, int32_t*);

template <bool kVectors, int D, size_t... R>
constexpr TileFn TileOf(std::index_sequence<R...>, int64_t rows, bool wide) {
  constexpr TileFn narrow_tiles[] = {Tile<kVectors, D, static_cast<int>(R) + 1, 1>...};
  constexpr TileFn wide_tiles[] = {Tile<kVectors, D, static_cast<int>(R) + 1, 2>...};
  return wide ? wide_tiles[rows - 1] : narrow_tiles[rows - 1];
}

template <bool kVectors, size_t... R>
constexpr TileFn PlainTileOf(std::index_sequence<R...>, int64_t rows, bool wide) {
  constexpr TileFn narrow_tiles[] = {PlainTile<kVectors, static_cast<int>(R) + 1, 1>...};
  constexpr TileFn wide_tiles[] = {PlainTile<kVectors, static_cast<int>(R) + 1, 2>...};
  return wide ? wide_tiles[rows - 1] : narrow_tiles[rows - 1];
}

template <bool kVectors, size_t... R>
constexpr TileFn WideTileOf(std::index_sequence<R...>, int64_t rows, bool wide) {
  constexpr TileFn narrow_tiles[] = {WideTile<kVectors, static_cast<int>(R) + 1, 1>...};
  constexpr TileFn wide_tiles[] = {WideTile<kVectors, static_cast<int>(R) + 1, 2>...};
  return wide ? wide_tiles[rows - 1] : narrow_tiles[rows - 1];
}

template <bool kVectors>
TileFn FindTile(int64_t depth, int64_t rows, bool wide) {
  constexpr auto kSequence = std::make_index_sequence<kRows>{};
  switch (depth) {
    case 0: return WideTileOf<kVectors>(std::make_index_sequence<kWideRows>{}, rows, wide);
    case 1: return PlainTileOf<kVectors>(kSequence, rows, wide);
    case 2: return TileOf<kVectors, 2>(kSequence, rows, wide);
    case 3: return TileOf<kVectors, 3>(kSequence, rows, wide);
    default: return TileOf<kVectors, 4>(kSequence, rows, wide);
  }
}

/// kWidth codes.
template <class T>
HWY_INLINE void StoreCodes(V32 low, V32 high, int32_t zero, T* to) {
#if HWY_TARGET == HWY_AVX2
  const __m256i pairs = _mm256_adds_epi16(_mm256_packs_epi32(low.raw, high.raw), _mm256_set1_epi16(static_cast<int16_t>(zero)));
  const __m256i bytes = std::is_signed_v<T> ? _mm256_packs_epi16(pairs, pairs) : _mm256_packus_epi16(pairs, pairs);
  // Each half holds four codes of `low`, then four of `high`.
  const __m128i halves = _mm256_castsi256_si128(_mm256_permute4x64_epi64(bytes, 0x08));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi32(halves, 0xd8));
#else
  const D32 d32;
  const hn::Rebind<T, D32> codes;
  const V32 offset = hn::Set(d32, zero);
  hn::StoreU(hn::DemoteTo(codes, hn::Add(low, offset)), codes, to);
  hn::StoreU(hn::DemoteTo(codes, hn::Add(high, offset)), codes, to + kLanes);
#endif
}

/// kWidth scaled sums as floats or codes, `width` of them to the output.
HWY_INLINE void StoreScaled(const Int8Store& store, hn::Vec<DF> low, hn::Vec<DF> high, int64_t at, int64_t width) {
  const DF df;
  HWY_ALIGN float buffer[kWidth];
  if (store.kind == Int8Store::kFloat) {
    float* to = static_cast<float*>(store.data) + at;
    float* place = width == kWidth ? to : buffer;
    hn::StoreU(low, df, place);
    hn::StoreU(high, df, place + kLanes);
    if (width < kWidth) std::memcpy(to, buffer, static_cast<size_t>(width) * sizeof(float));
    return;
  }
  auto* to = static_cast<uint8_t*>(store.data) + at;
  auto* place = width == kWidth ? to : reinterpret_cast<uint8_t*>(buffer);
  if (store.kind == Int8Store::kInt8) {
    StoreCodes(RoundCodes(low), RoundCodes(high), store.zero, reinterpret_cast<int8_t*>(place));
  } else {
    StoreCodes(RoundCodes(low), RoundCodes(high), store.zero, place);
  }
  if (width < kWidth) std::memcpy(to, place, static_cast<size_t>(width));
}

/// A tile whose columns are lines [n, n + width), rows from m.
void StoreRows(const Int8Store& store, const int32_t* sums, int64_t m, int64_t rows, int64_t n, int64_t width) {
  const D32 d32;
  const DF df;
  const V32 add0 = hn::LoadU(d32, store.add + n), add1 = hn::LoadU(d32, store.add + n + kLanes);
  const auto scale0 = hn::LoadU(df, store.scales + n), scale1 = hn::LoadU(df, store.scales + n + kLanes);
  for (int64_t r = 0; r < rows; ++r) {
    V32 sum0 = hn::Add(hn::Load(d32, sums + r * kWidth), add0), sum1 = hn::Add(hn::Load(d32, sums + r * kWidth + kLanes), add1);
    if (store.line_zeros != nullptr) {
      const V32 row = hn::Set(d32, store.row_sums[m + r]);
      sum0 = hn::Add(sum0, hn::Mul(row, hn::LoadU(d32, store.line_zeros + n)));
      sum1 = hn::Add(sum1, hn::Mul(row, hn::LoadU(d32, store.line_zeros + n + kLanes)));
    }
    auto low = hn::Mul(hn::ConvertTo(df, sum0), scale0), high = hn::Mul(hn::ConvertTo(df, sum1), scale1);
    if (store.bias != nullptr) {
      low = hn::Add(low, hn::LoadU(df, store.bias + n));
      high = hn::Add(high, hn::LoadU(df, store.bias + n + kLanes));
    }
    StoreScaled(store, low, high, (m + r) * store.row + n, width);
  }
}

/// Whole vectors of codes of the lines from `line`.
template <class T>
void StoreWholeLines(const Int8Store& store, const int32_t* HWY_RESTRICT sums, int64_t line, int64_t rows, T* HWY_RESTRICT out) {
  const D32 d32;
  const DF df;
  const int32_t* HWY_RESTRICT adds = store.add + line;
  const float* HWY_RESTRICT scales = store.scales + line;
  const int64_t step = store.row;
  const int32_t zero = store.zero;
  for (int64_t r = 0; r < rows; ++r, sums += kWidth, out += step) {
    const V32 add = hn::Set(d32, adds[r]);
    const auto scale = hn::Set(df, scales[r]);
    const auto low = hn::ConvertTo(df, hn::Add(hn::Load(d32, sums), add)), high = hn::ConvertTo(df, hn::Add(hn::Load(d32, sums + kLanes), add));
    StoreCodes(RoundCodes(hn::Mul(low, scale)), RoundCodes(hn::Mul(high, scale)), zero, out);
  }
}

/// A tile whose rows are lines from `line`, columns pixels [n, n + width).
void StoreLines(const Int8Store& store, const int32_t* sums, int64_t line, int64_t rows, int64_t n, int64_t width) {
  const D32 d32;
  const DF df;
  if (width == kWidth && store.kind == Int8Store::kUInt8) return StoreWholeLines(store, sums, line, rows, static_cast<uint8_t*>(store.data) + line * store.row + n);
  if (width == kWidth && store.kind == Int8Store::kInt8) return StoreWholeLines(store, sums, line, rows, static_cast<int8_t*>(store.data) + line * store.row + n);
  for (int64_t r = 0; r < rows; ++r) {
    const V32 add = hn::Set(d32, store.add[line + r]);
    const auto scale = hn::Set(df, store.scales[line + r]);
    const auto low = hn::ConvertTo(df, hn::Add(hn::Load(d32, sums + r * kWidth), add));
    const auto high = hn::ConvertTo(df, hn::Add(hn::Load(d32, sums + r * kWidth + kLanes), add));
    StoreScaled(store, hn::Mul(low, scale), hn::Mul(high, scale), (line + r) * store.row + n, width);
  }
}

const uint8_t* Bytes(const Tensor& tensor) { return static_cast<const uint8_t*>(tensor.raw()); }

constexpr int64_t kStayingBytes = 20 << 10;  // of an operand in the first cache, while the other passes
constexpr int64_t kPassing = 8 * kWideRows;  // rows or lines that pass

/// Sums of tiles that share their columns, rows [0, rows) of `passing` in all: part after part of k, so that the columns stay in
/// the first cache. `operands(i)` gives those of the i-th tile.
template <bool kVectors, class FindOperands>
void MultiplyStrip(const PackedLines& lines, int64_t staying_bytes, int64_t rows, int64_t width, const FindOperands& operands, int32_t* sums,
                   BlockPrefetch& prefetch) {
  const int64_t tile_rows = lines.wide() ? kWideRows : kRows;
  const int64_t per_segment = lines.wide() ? 1 : lines.depth;       // groups of the operand without offsets
  const int64_t records = lines.records();                          // of the other
  const int64_t parts = std::max<int64_t>((staying_bytes + kStayingBytes - 1) / kStayingBytes, 1);
  const int64_t step = (lines.segments + parts - 1) / parts;
  const TileFn whole_tile = FindTile<kVectors>(lines.depth, tile_rows, width > kLanes);
  for (int64_t s = 0; s == 0 || s < lines.segments; s += step) {
    const int64_t end = std::min(lines.segments, s + step);
    for (int64_t r = 0, i = 0; r < rows; r += tile_rows, ++i) {
      const int64_t some = std::min(tile_rows, rows - r);
      TileArgs args = operands(i);
      prefetch.Continue();
      args.left += s * (kVectors ? 4 * per_segment : 4 * tile_rows * records);
      args.right += s * (kVectors ? records : per_segment) * kRecord;
      args.segments = end - s;
      args.add = s > 0;
      if (end < lines.segments) args.extra_count = 0;
      (some == tile_rows ? whole_tile : FindTile<kVectors>(lines.depth, some, width > kLanes))(args, sums + r * kWidth);
    }
    if (step == 0) break;
  }
}

void MultiplyRows(const PackedLines& lines, const ByteRows& left, int64_t m0, int64_t m1, int64_t b0, int64_t b1, const Int8Store& store) {
  static_assert(kPassing % kTurnedRows == 0);
  HWY_ALIGN int32_t sums[kPassing * kWidth] = {};  // corrections meet rows past the last
  const int64_t tile_rows = lines.wide() ? kWideRows : kRows;
  BlockPrefetch prefetch(lines.block_bytes, (m1 - m0 + tile_rows - 1) / tile_rows);
  for (int64_t b = b0; b < b1; ++b) {
    if (b + 1 < b1) prefetch.Begin(Bytes(lines.values) + (b + 1) * lines.block_bytes);
    const int64_t width = std::min<int64_t>(kWidth, lines.lines - b * kWidth);
    const int64_t extra = lines.extra_begin[static_cast<size_t>(b)];
    for (int64_t m = m0; m < m1; m += kPassing) {
      const int64_t rows = std::min(kPassing, m1 - m);
      const auto operands = [&](int64_t i) {
        const uint8_t* from = left.data + (m + i * tile_rows) * left.row;
        return TileArgs{from, left.row, Bytes(lines.values) + b * lines.block_bytes, 0, false, from, lines.extra_group.data() + extra,
                        Bytes(lines.extras) + extra * kRecord, lines.extra_begin[static_cast<size_t>(b) + 1] - extra};
      };
      MultiplyStrip<true>(lines, lines.block_bytes, rows, width, operands, sums, prefetch);
      if (left.turned != nullptr) AddCorrections(lines, left.turned, m, rows, b * kWidth, kWidth, sums);
      StoreRows(store, sums, m, rows, b * kWidth, width);
    }
  }
}

void MultiplyPanels(const PackedLines& lines, const uint8_t* panels, int64_t panel_bytes, int64_t first, int64_t pixels, int64_t b0,
                    int64_t b1, const Int8Store& store) {
  HWY_ALIGN int32_t sums[kPassing * kWidth];
  const int64_t tile_rows = lines.wide() ? kWideRows : kRows;
  const int64_t last = std::min(lines.lines, b1 * tile_rows);
  BlockPrefetch none(0, 1);
  const auto multiply = [&](int64_t n, int64_t line) {
    const int64_t width = std::min<int64_t>(kWidth, pixels - n), rows = std::min(kPassing, last - line), first_block = line / tile_rows;
    const uint8_t* panel = panels + n / kWidth * panel_bytes;
    const auto operands = [&](int64_t i) {
      const int64_t b = first_block + i;
      const int64_t extra = lines.extra_begin[static_cast<size_t>(b)];
      return TileArgs{Bytes(lines.values) + b * lines.block_bytes, 4, panel, 0, false, panel, lines.extra_group.data() + extra,
                      Bytes(lines.extras) + extra * 4 * tile_rows, lines.extra_begin[static_cast<size_t>(b) + 1] - extra};
    };
    MultiplyStrip<false>(lines, panel_bytes, rows, width, operands, sums, none);
    StoreLines(store, sums, line, rows, first + n, width);
  };
  // Panels that stay in the first cache fill cache lines of the output together.
  constexpr int64_t kLineOfCodes = 64;
  const int64_t together = std::clamp<int64_t>(kStayingBytes / panel_bytes, 1, kLineOfCodes / kWidth) * kWidth;
  for (int64_t n0 = 0; n0 < pixels; n0 += together) {
    for (int64_t line = b0 * tile_rows; line < last; line += kPassing) {
      for (int64_t n = n0; n < std::min(pixels, n0 + together); n += kWidth) multiply(n, line);
    }
  }
}

/// Four rows of kWidth bytes, interleaved.
HWY_INLINE void Interleave(const uint8_t* const rows[4], uint8_t flip, uint8_t* out) {
  constexpr int kStep = kWidth < 16 ? kWidth : 16;
  const hn::FixedTag<uint8_t, kStep> d8;
  const hn::FixedTag<uint16_t, kStep / 2> d16;
  const auto change = hn::Set(d8, flip);
  for (int j = 0; j < kWidth; j += kStep, out += 4 * kStep) {
    const auto v0 = hn::Xor(hn::LoadU(d8, rows[0] + j), change), v1 = hn::Xor(hn::LoadU(d8, rows[1] + j), change);
    const auto v2 = hn::Xor(hn::LoadU(d8, rows[2] + j), change), v3 = hn::Xor(hn::LoadU(d8, rows[3] + j), change);
    const auto low01 = hn::BitCast(d16, hn::InterleaveLower(d8, v0, v1)), low23 = hn::BitCast(d16, hn::InterleaveLower(d8, v2, v3));
    hn::StoreU(hn::BitCast(d8, hn::InterleaveLower(d16, low01, low23)), d8, out);
    if constexpr (kStep == 16) {
      const auto high01 = hn::BitCast(d16, hn::InterleaveUpper(d8, v0, v1)), high23 = hn::BitCast(d16, hn::InterleaveUpper(d8, v2, v3));
      hn::StoreU(hn::BitCast(d8, hn::InterleaveUpper(d16, low01, low23)), d8, out + 16);
      hn::StoreU(hn::BitCast(d8, hn::InterleaveLower(d16, high01, high23)), d8, out + 32);
      hn::StoreU(hn::BitCast(d8, hn::InterleaveUpper(d16, high01, high23)), d8, out + 48);
    }
  }
}

/// Two rows of kWidth bytes as pairs of 16 bits.
HWY_INLINE void InterleaveWide(const uint8_t* const rows[2], uint8_t flip, uint8_t* out) {
  const hn::Rebind<uint8_t, D32> half;
  const hn::Rebind<uint32_t, D32> d32;
  const auto change = hn::Set(half, flip);
  for (int j = 0; j < kWidth; j += kLanes) {
    const auto low = hn::PromoteTo(d32, hn::Xor(hn::LoadU(half, rows[0] + j), change));
    const auto high = hn::PromoteTo(d32, hn::Xor(hn::LoadU(half, rows[1] + j), change));
    hn::StoreU(hn::Or(low, hn::ShiftLeft<16>(high)), d32, reinterpret_cast<uint32_t*>(out) + j);
  }
}

void PackPixels(const PixelSource& source, const PixelRun* runs, size_t count, uint8_t* out) {
  constexpr int kSlack = 16;
  HWY_ALIGN uint8_t copies[4][kWidth + kSlack] = {};
  const uint8_t* rows[4];
  const int together = source.wide ? 2 : 4;
  for (int64_t k = 0; k < source.rows; k += together, out += kRecord) {
    for (int i = 0; i < together; ++i) {
      rows[i] = copies[i];
      if (k + i >= source.rows) continue;  // weights are 0 there
      const uint8_t* row = source.base + source.offsets[k + i];
      if (count == 1 && row + runs[0].from + kWidth <= source.end) {
        rows[i] = row + runs[0].from;
        continue;
      }
      for (size_t r = 0; r < count; ++r) {
        const uint8_t* from = row + runs[r].from;
        uint8_t* to = copies[i] + runs[r].to;
        if (from + runs[r].length + 8 > source.end) {
          std::memcpy(to, from, static_cast<size_t>(runs[r].length));
          continue;
        }
        for (int64_t j = 0; j < runs[r].length; j += 8) std::memcpy(to + j, from + j, 8);
      }
    }
    source.wide ? InterleaveWide(rows, source.flip, out) : Interleave(rows, source.flip, out);
  }
}

}  // namespace

U8S8Kernels U8S8Table() { return {kAvailable, kWidth, kRows, kWideRows, MultiplyRows, MultiplyPanels, PackPixels}; }

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(U8S8Table);

const U8S8Kernels& KernelsU8S8() {
  static const U8S8Kernels kernels = HWY_DYNAMIC_DISPATCH(U8S8Table)();
  return kernels;
}

int64_t PanelWidth() { return KernelsU8S8().width; }

void MultiplyRows(const PackedLines& lines, const ByteRows& left, int64_t m0, int64_t m1, int64_t b0, int64_t b1, const Int8Store& store) {
  KernelsU8S8().multiply_rows(lines, left, m0, m1, b0, b1, store);
}

void MultiplyPanels(const PackedLines& lines, const uint8_t* panels, int64_t panel_bytes, int64_t first, int64_t pixels, int64_t b0,
                    int64_t b1, const Int8Store& store) {
  KernelsU8S8().multiply_panels(lines, panels, panel_bytes, first, pixels, b0, b1, store);
}

int64_t PanelBytes(int64_t rows, bool wide) { return (wide ? (rows + 1) / 2 : (rows + 3) / 4) * 4 * KernelsU8S8().width; }

void PackPixels(const PixelSource& source, const PixelRun* runs, size_t count, uint8_t* out) { KernelsU8S8().pack_pixels(source, runs, count, out); }

}  // namespace tessera::cpu
#endif
