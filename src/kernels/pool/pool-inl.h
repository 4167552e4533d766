// What poolings of rows and of small planes share; included once per instruction set.

#if defined(TESSERA_SIMD_POOL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_POOL_INL_H
#undef TESSERA_SIMD_POOL_INL_H
#else
#define TESSERA_SIMD_POOL_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "base/max_or_nan.h"
#include "kernels/pool/pool.h"
#include "kernels/vector/nan-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Maxima are NaN where an element is.
template <class T, PoolKind kKind>
struct PoolOp {
  static T Identity() {
    if constexpr (kKind != PoolKind::kMax) return T{0};
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  }
  template <class V>
  static HWY_INLINE V Load(V v) {
    if constexpr (kKind == PoolKind::kSumOfAbs) return hn::Abs(v);
    if constexpr (kKind == PoolKind::kSumOfSquares) return hn::Mul(v, v);
    return v;
  }
  template <class V>
  static HWY_INLINE V Combine(V a, V b) {
    if constexpr (kKind == PoolKind::kMax) return MaxOrNan(a, b);
    else return hn::Add(a, b);
  }
  template <class D>
  static HWY_INLINE T OfLanes(D d, hn::Vec<D> v) {
    if constexpr (kKind != PoolKind::kMax) return hn::GetLane(hn::SumOfLanes(d, v));
    else if (!hn::AllFalse(d, NanLanes(v))) return std::numeric_limits<T>::quiet_NaN();
    else return hn::GetLane(hn::MaxOfLanes(d, v));
  }
  static HWY_INLINE T LoadOne(T v) {
    if constexpr (kKind == PoolKind::kSumOfAbs) return v < 0 ? -v : v;
    if constexpr (kKind == PoolKind::kSumOfSquares) return v * v;
    return v;
  }
  static HWY_INLINE T CombineOne(T a, T b) {
    if constexpr (kKind == PoolKind::kMax) return tessera::MaxOrNan(a, b);
    else return a + b;
  }
};

/// A piece of one output row.
template <class T>
struct Piece {
  const T* from;  // combined rows, padding included
  T* out;
  const T* out_end;  // vectors may write up to there
  int64_t output;    // elements
  const T* scales;   // kDivide: one over the count of each
};

/// Stores the vectors of results finished(o) that start at o. Captures by value keep what the loop needs in registers.
template <class D, class T, class Finished>
HWY_INLINE void StoreVectors(D d, const Piece<T>& piece, const Finished finished) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t output = piece.output;
  T* const out = piece.out;
  int64_t o = 0;
  for (; o + lanes <= output; o += lanes) hn::StoreU(finished(o), d, out + o);
  if (o == output) return;
  // The last vector: some results once more, or past the end where that may be written. One copy of it: what is inlined
  // here is most of this file's build.
  HWY_ALIGN T tail[HWY_LANES(T)];
  const int64_t last = o > 0 ? output - lanes : 0;
  const bool direct = o > 0 || piece.out_end - out >= lanes;
  hn::StoreU(finished(last), d, direct ? out + last : tail);
  if (!direct) std::memcpy(out, tail, static_cast<size_t>(output) * sizeof(T));
}

/// Calls compute(o) for vectors of results that start at o, finishes and stores them. kDivide, kRoot: whether these
/// finishes are among those that may be asked for.
template <bool kDivide, bool kRoot, class D, class T, class Compute>
HWY_INLINE void ForEachVector(D d, PoolFinish finish, const Piece<T>& piece, const Compute compute) {
  if constexpr (kDivide) {
    if (finish == PoolFinish::kDivide) {
      const T* const scales = piece.scales;
      StoreVectors(d, piece, [=](int64_t o) HWY_ATTR { return hn::Mul(compute(o), hn::LoadU(d, scales + o)); });
      return;
    }
  }
  if constexpr (kRoot) {
    if (finish == PoolFinish::kSquareRoot) {
      StoreVectors(d, piece, [=](int64_t o) HWY_ATTR { return hn::Sqrt(compute(o)); });
      return;
    }
  }
  StoreVectors(d, piece, compute);
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
