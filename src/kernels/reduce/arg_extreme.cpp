// Positions of maxima and minima.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/arg_extreme.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <tuple>

#include "kernels/reduce/arg_extreme.h"
#include "kernels/vector/nan-inl.h"

#ifndef TESSERA_ARG_TABLES
#define TESSERA_ARG_TABLES
namespace tessera::cpu {
template <class T>
struct ArgPair {
  ArgKernels<T> maximum, minimum;
};
using ArgTables = std::tuple<ArgPair<float>, ArgPair<double>, ArgPair<int8_t>, ArgPair<uint8_t>, ArgPair<int16_t>,
                             ArgPair<uint16_t>, ArgPair<int32_t>, ArgPair<uint32_t>, ArgPair<int64_t>, ArgPair<uint64_t>>;
}  // namespace tessera::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <bool kMin, class T>
HWY_INLINE bool Better(T x, T best) {
  return kMin ? x < best : x > best;
}

/// The first (or last) position that no other beats, by plain comparison.
template <bool kMin, class T>
HWY_INLINE int64_t Scan(const T* x, int64_t count, bool last) {
  int64_t best = last ? count - 1 : 0;
  for (int64_t k = 1; k < count && x[best] == x[best]; ++k) {
    const int64_t i = last ? count - 1 - k : k;
    if (Better<kMin>(x[i], x[best]) || x[i] != x[i]) best = i;
  }
  return best;
}

/// The extreme of a block of at least one vector; `has_nan` tells whether a NaN is there.
template <bool kMin, class T>
HWY_INLINE T Extreme(const T* HWY_RESTRICT x, int64_t count, bool& has_nan) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto join = [](auto a, auto b) HWY_ATTR { return kMin ? hn::Min(a, b) : hn::Max(a, b); };
  auto a0 = hn::LoadU(d, x), a1 = a0, a2 = a0, a3 = a0;
  auto n0 = NanLanes(a0), n1 = n0;
  int64_t i = lanes;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto v0 = hn::LoadU(d, x + i), v1 = hn::LoadU(d, x + i + lanes);
    const auto v2 = hn::LoadU(d, x + i + 2 * lanes), v3 = hn::LoadU(d, x + i + 3 * lanes);
    a0 = join(a0, v0);
    a1 = join(a1, v1);
    a2 = join(a2, v2);
    a3 = join(a3, v3);
    if constexpr (hwy::IsFloat<T>()) {
      n0 = hn::Or(n0, hn::Or(NanLanes(v0), NanLanes(v1)));
      n1 = hn::Or(n1, hn::Or(NanLanes(v2), NanLanes(v3)));
    }
  }
  for (; i < count; i += lanes) {
    const auto v = hn::LoadU(d, x + std::min(i, count - lanes));  // the last vector overlaps the one before
    a0 = join(a0, v);
    if constexpr (hwy::IsFloat<T>()) n0 = hn::Or(n0, NanLanes(v));
  }
  has_nan = hwy::IsFloat<T>() && !hn::AllFalse(d, hn::Or(n0, n1));
  HWY_ALIGN T lane[HWY_LANES(T)];
  hn::Store(join(join(a0, a1), join(a2, a3)), d, lane);
  T best = lane[0];
  for (int64_t j = 1; j < lanes; ++j) best = Better<kMin>(lane[j], best) ? lane[j] : best;
  return best;
}

template <bool kMin, class T>
int64_t ArgRow(const T* x, int64_t count, bool last) {
  constexpr int64_t kBlock = 1024;
  if (count < 2 * static_cast<int64_t>(HWY_LANES(T))) return Scan<kMin>(x, count, last);
  // Blocks of kBlock, the last one between kBlock and 2 kBlock - 1 long; from the back when the last position counts.
  const int64_t blocks = std::max<int64_t>(count / kBlock, 1);
  int64_t best_block = -1;
  T best = {};
  const auto size_of = [&](int64_t block) { return block == blocks - 1 ? count - block * kBlock : kBlock; };
  for (int64_t k = 0; k < blocks; ++k) {
    const int64_t block = last ? blocks - 1 - k : k;
    bool has_nan = false;
    const T extreme = Extreme<kMin>(x + block * kBlock, size_of(block), has_nan);
    if (has_nan) return block * kBlock + Scan<kMin>(x + block * kBlock, size_of(block), last);
    if (best_block < 0 || Better<kMin>(extreme, best)) {
      best_block = block;
      best = extreme;
    }
  }
  // Both searches end within the block, also where nothing should equal its extreme.
  const T* block = x + best_block * kBlock;
  const int64_t end = size_of(best_block) - 1;
  if (last) {
    int64_t i = end;
    while (i > 0 && block[i] != best) --i;
    return best_block * kBlock + i;
  }
  return best_block * kBlock + (std::find(block, block + end, best) - block);
}

template <bool kMin, bool kLast, class T>
void Columns(const T* x, int64_t count, int64_t stride, int64_t columns, int64_t* index) {
  using I = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  T best[kArgColumns];
  I at[kArgColumns];
  std::copy_n(x, columns, best);
  std::fill_n(at, columns, I{0});
  for (int64_t i = 1; i < count; ++i) {
    const T* HWY_RESTRICT row = x + i * stride;
    for (int64_t j = 0; j < columns; ++j) {
      const T v = row[j], b = best[j];
      bool take = kLast ? !Better<kMin>(b, v) : Better<kMin>(v, b);
      if constexpr (hwy::IsFloat<T>()) {
        take = kLast ? (take & (b == b)) | (v != v) : take | ((v != v) & (b == b));
      }
      best[j] = take ? v : b;
      at[j] = take ? static_cast<I>(i) : at[j];
    }
  }
  for (int64_t j = 0; j < columns; ++j) index[j] = at[j];
}

template <bool kMin, class T>
void ArgColumns(const T* x, int64_t count, int64_t stride, int64_t columns, bool last, int64_t* index) {
  if (last) {
    Columns<kMin, true>(x, count, stride, columns, index);
  } else {
    Columns<kMin, false>(x, count, stride, columns, index);
  }
}

template <class T>
ArgPair<T> Pair() {
  return {{ArgRow<false, T>, ArgColumns<false, T>}, {ArgRow<true, T>, ArgColumns<true, T>}};
}

}  // namespace

ArgTables ArgTable() {
  return {Pair<float>(),    Pair<double>(),  Pair<int8_t>(),   Pair<uint8_t>(), Pair<int16_t>(),
          Pair<uint16_t>(), Pair<int32_t>(), Pair<uint32_t>(), Pair<int64_t>(), Pair<uint64_t>()};
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(ArgTable);

template <class T>
const ArgKernels<T>& ArgKernelsOf(bool minimum) {
  static const ArgTables tables = HWY_DYNAMIC_DISPATCH(ArgTable)();
  const ArgPair<T>& pair = std::get<ArgPair<T>>(tables);
  return minimum ? pair.minimum : pair.maximum;
}

template const ArgKernels<float>& ArgKernelsOf<float>(bool);
template const ArgKernels<double>& ArgKernelsOf<double>(bool);
template const ArgKernels<int8_t>& ArgKernelsOf<int8_t>(bool);
template const ArgKernels<uint8_t>& ArgKernelsOf<uint8_t>(bool);
template const ArgKernels<int16_t>& ArgKernelsOf<int16_t>(bool);
template const ArgKernels<uint16_t>& ArgKernelsOf<uint16_t>(bool);
template const ArgKernels<int32_t>& ArgKernelsOf<int32_t>(bool);
template const ArgKernels<uint32_t>& ArgKernelsOf<uint32_t>(bool);
template const ArgKernels<int64_t>& ArgKernelsOf<int64_t>(bool);
template const ArgKernels<uint64_t>& ArgKernelsOf<uint64_t>(bool);

}  // namespace tessera::cpu
#endif
