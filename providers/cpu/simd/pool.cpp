// One row of a pooling's output.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/pool.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "simd/pool.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

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
    if constexpr (kKind == PoolKind::kMax) return hn::Max(a, b);
    else return hn::Add(a, b);
  }
  static HWY_INLINE T LoadOne(T v) {
    if constexpr (kKind == PoolKind::kSumOfAbs) return v < 0 ? -v : v;
    if constexpr (kKind == PoolKind::kSumOfSquares) return v * v;
    return v;
  }
  static HWY_INLINE T CombineOne(T a, T b) {
    if constexpr (kKind == PoolKind::kMax) return a > b ? a : b;
    else return a + b;
  }
};

template <class T, PoolKind kKind>
void CombineRows(const PoolRow<T>& row, T* to) {
  using Op = PoolOp<T, kKind>;
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t x = 0;
  for (; x + lanes <= row.width; x += lanes) {
    auto v = Op::Load(hn::LoadU(d, row.rows[0] + x));
    for (int64_t r = 1; r < row.row_count; ++r) v = Op::Combine(v, Op::Load(hn::LoadU(d, row.rows[r] + x)));
    hn::StoreU(v, d, to + x);
  }
  for (; x < row.width; ++x) {
    T v = Op::LoadOne(row.rows[0][x]);
    for (int64_t r = 1; r < row.row_count; ++r) v = Op::CombineOne(v, Op::LoadOne(row.rows[r][x]));
    to[x] = v;
  }
}

template <class T, PoolKind kKind>
void CombineColumns(const PoolRow<T>& row) {
  using Op = PoolOp<T, kKind>;
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t x = 0;
  HWY_ALIGN T tail[64 / sizeof(T)];
  const auto store = [&](auto v) HWY_ATTR {
    if (x + lanes <= row.output) {
      hn::StoreU(v, d, row.out + x);
    } else {
      hn::Store(v, d, tail);
      std::memcpy(row.out + x, tail, static_cast<size_t>(row.output - x) * sizeof(T));
    }
  };
  if (row.stride == 1) {
    for (; x < row.output; x += lanes) {
      auto v = hn::LoadU(d, row.buffer + x);
      for (int64_t k = 1; k < row.kernel; ++k) v = Op::Combine(v, hn::LoadU(d, row.buffer + x + k * row.dilation));
      store(v);
    }
    return;
  }
  if (row.stride == 2 && sizeof(T) >= 4) {
    if constexpr (sizeof(T) >= 4) {
      for (; x < row.output; x += lanes) {
        auto v = hn::Set(d, Op::Identity());
        for (int64_t k = 0; k < row.kernel; ++k) {
          const T* from = row.buffer + 2 * x + k * row.dilation;
          const auto low = hn::LoadU(d, from);
          const auto high = hn::LoadU(d, from + lanes);
          v = Op::Combine(v, hn::ConcatEven(d, high, low));
        }
        store(v);
      }
      return;
    }
  }
  for (; x < row.output; ++x) {
    const T* from = row.buffer + x * row.stride;
    T v = from[0];
    for (int64_t k = 1; k < row.kernel; ++k) v = Op::CombineOne(v, from[k * row.dilation]);
    row.out[x] = v;
  }
}

template <class T, PoolKind kKind>
void Run(const PoolRow<T>& row) {
  const T identity = PoolOp<T, kKind>::Identity();
  if (row.row_count == 0) {
    std::fill_n(row.out, row.output, identity);
    return;
  }
  const int64_t extent = (row.kernel - 1) * row.dilation + 1;
  const int64_t total = PoolBufferSize(row.output, extent, row.stride, row.pad, row.width);
  std::fill_n(row.buffer, row.pad, identity);
  CombineRows<T, kKind>(row, row.buffer + row.pad);
  std::fill(row.buffer + row.pad + row.width, row.buffer + total, identity);
  CombineColumns<T, kKind>(row);
}

template <class T>
void Dispatch(const PoolRow<T>& row) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (row.kind) {
      case PoolKind::kMax:
        return Run<T, PoolKind::kMax>(row);
      case PoolKind::kSum:
        return Run<T, PoolKind::kSum>(row);
      case PoolKind::kSumOfAbs:
        return Run<T, PoolKind::kSumOfAbs>(row);
      case PoolKind::kSumOfSquares:
        return Run<T, PoolKind::kSumOfSquares>(row);
    }
  } else {
    Run<T, PoolKind::kMax>(row);
  }
}

template <class T, PoolKind kKind>
T Reduce(const T* in, int64_t count) {
  using Op = PoolOp<T, kKind>;
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a = hn::Set(d, Op::Identity());
  auto b = a;
  auto c = a;
  auto e = a;
  int64_t x = 0;
  for (; x + 4 * lanes <= count; x += 4 * lanes) {
    a = Op::Combine(a, Op::Load(hn::LoadU(d, in + x)));
    b = Op::Combine(b, Op::Load(hn::LoadU(d, in + x + lanes)));
    c = Op::Combine(c, Op::Load(hn::LoadU(d, in + x + 2 * lanes)));
    e = Op::Combine(e, Op::Load(hn::LoadU(d, in + x + 3 * lanes)));
  }
  for (; x + lanes <= count; x += lanes) a = Op::Combine(a, Op::Load(hn::LoadU(d, in + x)));
  a = Op::Combine(Op::Combine(a, b), Op::Combine(c, e));
  T result = kKind == PoolKind::kMax ? hn::GetLane(hn::MaxOfLanes(d, a)) : hn::GetLane(hn::SumOfLanes(d, a));
  for (; x < count; ++x) result = Op::CombineOne(result, Op::LoadOne(in[x]));
  return result;
}

template <class T>
T DispatchReduce(PoolKind kind, const T* in, int64_t count) {
  switch (kind) {
    case PoolKind::kMax:
      return Reduce<T, PoolKind::kMax>(in, count);
    case PoolKind::kSum:
      return Reduce<T, PoolKind::kSum>(in, count);
    case PoolKind::kSumOfAbs:
      return Reduce<T, PoolKind::kSumOfAbs>(in, count);
    case PoolKind::kSumOfSquares:
      return Reduce<T, PoolKind::kSumOfSquares>(in, count);
  }
  return 0;
}

}  // namespace

float ReduceFloat(PoolKind kind, const float* in, int64_t count) { return DispatchReduce(kind, in, count); }
double ReduceDouble(PoolKind kind, const double* in, int64_t count) { return DispatchReduce(kind, in, count); }
void PoolRowFloat(const PoolRow<float>& row) { Dispatch(row); }
void PoolRowDouble(const PoolRow<double>& row) { Dispatch(row); }
void PoolRowUInt8(const PoolRow<uint8_t>& row) { Dispatch(row); }
void PoolRowInt8(const PoolRow<int8_t>& row) { Dispatch(row); }

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(PoolRowFloat);
HWY_EXPORT(PoolRowDouble);
HWY_EXPORT(PoolRowUInt8);
HWY_EXPORT(PoolRowInt8);
HWY_EXPORT(ReduceFloat);
HWY_EXPORT(ReduceDouble);

template <>
float ReducePoolRow<float>(PoolKind kind, const float* in, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(ReduceFloat)(kind, in, count);
}
template <>
double ReducePoolRow<double>(PoolKind kind, const double* in, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(ReduceDouble)(kind, in, count);
}

template <class T>
void ComputePoolRow(const PoolRow<T>& row) {
  if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(PoolRowFloat)(row);
  } else if constexpr (std::is_same_v<T, double>) {
    HWY_DYNAMIC_DISPATCH(PoolRowDouble)(row);
  } else if constexpr (std::is_same_v<T, uint8_t>) {
    HWY_DYNAMIC_DISPATCH(PoolRowUInt8)(row);
  } else {
    HWY_DYNAMIC_DISPATCH(PoolRowInt8)(row);
  }
}
template void ComputePoolRow<float>(const PoolRow<float>&);
template void ComputePoolRow<double>(const PoolRow<double>&);
template void ComputePoolRow<uint8_t>(const PoolRow<uint8_t>&);
template void ComputePoolRow<int8_t>(const PoolRow<int8_t>&);

}  // namespace tessera::cpu
#endif
