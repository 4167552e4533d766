// Pooling of small planes and of whole ones.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/pool_planes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "kernels/pool/pool-inl.h"
#include "kernels/pool/pool.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

/// One output row of a small plane. KH, KW: the kernel, 0: any.
template <PoolKind kKind, int KH, int KW, class T>
HWY_INLINE void SmallRow(const SmallPlanes<T>& planes, const T* from, const Piece<T>& piece) {
  using Op = PoolOp<T, kKind>;
  constexpr bool kDivide = kKind == PoolKind::kSum, kRoot = kKind == PoolKind::kSumOfSquares;
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t rows = KH == 0 ? planes.kernel[0] : KH, columns = KW == 0 ? planes.kernel[1] : KW;
  const int64_t down = planes.dilations[0] * planes.padded[1], across = planes.dilations[1];
  const auto window = [=](const T* at) HWY_ATTR {
    auto v = Op::Load(hn::LoadU(d, at));
    for (int64_t k = 1; k < columns; ++k) v = Op::Combine(v, Op::Load(hn::LoadU(d, at + k * across)));
    for (int64_t r = 1; r < rows; ++r) {
      for (int64_t k = 0; k < columns; ++k) v = Op::Combine(v, Op::Load(hn::LoadU(d, at + r * down + k * across)));
    }
    return v;
  };
  if (planes.strides[1] == 1) {
    ForEachVector<kDivide, kRoot>(d, planes.finish, piece, [=](int64_t o) HWY_ATTR { return window(from + o); });
  } else if (planes.strides[1] == 2 && (KW == 2 || KW == 3) && across == 1) {
    const auto column = [=](const T* at) HWY_ATTR {
      auto v = Op::Load(hn::LoadU(d, at));
      for (int64_t r = 1; r < rows; ++r) v = Op::Combine(v, Op::Load(hn::LoadU(d, at + r * down)));
      return v;
    };
    ForEachVector<kDivide, kRoot>(d, planes.finish, piece, [=](int64_t o) HWY_ATTR {
      const T* at = from + 2 * o;
      const auto low = column(at), high = column(at + lanes);
      auto v = Op::Combine(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
      if constexpr (KW == 3) v = Op::Combine(v, hn::ConcatEven(d, column(at + lanes + 2), column(at + 2)));
      return v;
    });
  } else if (planes.strides[1] == 2) {
    ForEachVector<kDivide, kRoot>(d, planes.finish, piece, [=](int64_t o) HWY_ATTR {
      return hn::ConcatEven(d, window(from + 2 * o + lanes), window(from + 2 * o));
    });
  } else {
    ForEachVector<kDivide, kRoot>(d, planes.finish, piece, [=](int64_t o) HWY_ATTR {
      hn::Vec<decltype(d)> v = hn::Set(d, Op::Identity());
      for (int64_t r = 0; r < rows; ++r) {
        hn::Vec<decltype(d)> a, b, c;
        hn::LoadInterleaved3(d, from + 3 * o + r * down, a, b, c);
        v = Op::Combine(v, Op::Combine(Op::Combine(Op::Load(a), Op::Load(b)), Op::Load(c)));
      }
      return v;
    });
  }
}

/// Windows of K by K at every position: down a strip of columns, each input row is combined along once.
template <PoolKind kKind, int K, class T>
HWY_INLINE void SmallStrips(const SmallPlanes<T>& planes, const T* from, T* out) {
  using Op = PoolOp<T, kKind>;
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t down = planes.padded[1], width = planes.output[1], rows = planes.output[0];
  const T* const scales = planes.scales;
  const bool root = planes.finish == PoolFinish::kSquareRoot;
  for (int64_t o = 0;; o = std::min(o + lanes, width - lanes)) {
    const auto along = [=](int64_t r) HWY_ATTR {
      const T* at = from + r * down + o;
      auto v = Op::Load(hn::LoadU(d, at));
#pragma GCC unroll 4
      for (int k = 1; k < K; ++k) v = Op::Combine(v, Op::Load(hn::LoadU(d, at + k)));
      return v;
    };
    hn::Vec<decltype(d)> above[K - 1];
#pragma GCC unroll 4
    for (int k = 0; k < K - 1; ++k) above[k] = along(k);
    for (int64_t r = 0; r < rows; ++r) {
      const auto bottom = along(r + K - 1);
      auto v = above[0];
#pragma GCC unroll 4
      for (int k = 1; k < K - 1; ++k) v = Op::Combine(v, above[k]);
      v = Op::Combine(v, bottom);
      if constexpr (std::is_floating_point_v<T>) {
        if (scales != nullptr) v = hn::Mul(v, hn::LoadU(d, scales + r * width + o));
        if (root) v = hn::Sqrt(v);
      }
      hn::StoreU(v, d, out + r * width + o);
#pragma GCC unroll 4
      for (int k = 0; k + 2 < K; ++k) above[k] = above[k + 1];
      above[K - 2] = bottom;
    }
    if (o + lanes >= width) return;
  }
}

/// Copies a plane to where its padding surrounds it. Unless `exact`, reads up to a vector past it.
template <class T>
HWY_INLINE void CopyPadded(const SmallPlanes<T>& planes, const T* in, bool exact, T identity, T* to) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  // What a stride leaves of the input is not under any window.
  const int64_t width = std::min(planes.input[1], planes.padded[1] - planes.pads[1]);
  const int64_t height = std::min(planes.input[0], planes.padded[0] - planes.pads[0]);
  const auto rest = hn::FirstN(d, static_cast<size_t>(width % lanes));
  const auto pad = hn::Set(d, identity);
  to += planes.pads[0] * planes.padded[1] + planes.pads[1];
  for (int64_t r = 0; r < height; ++r, in += planes.input[1], to += planes.padded[1]) {
    if (exact) {
      std::copy_n(in, width, to);
      continue;
    }
    int64_t x = 0;
    for (; x + lanes <= width; x += lanes) hn::StoreU(hn::LoadU(d, in + x), d, to + x);
    // Padding goes over padding, and over the next row, which is still to come.
    if (x < width) hn::StoreU(hn::IfThenElse(rest, hn::LoadU(d, in + x), pad), d, to + x);
  }
}

template <PoolKind kKind, int KH, int KW, class T>
void SmallPlanesOf(const SmallPlanes<T>& planes, int64_t count, const T* in, T* buffer, T* out) {
  const T identity = PoolOp<T, kKind>::Identity();
  const int64_t size = planes.input[0] * planes.input[1];
  const int64_t width = planes.output[1];
  const T* const in_end = in + count * size;
  const T* const out_end = out + count * planes.output[0] * width;
  const bool in_place = planes.pads[0] == 0 && planes.pads[1] == 0 && planes.padded[1] == planes.input[1] &&
                        planes.padded[0] <= planes.input[0];
  const bool strips =
      planes.strides[0] == 1 && planes.strides[1] == 1 && planes.dilations[0] == 1 && planes.dilations[1] == 1;
  // Windows of one column: all rows are one.
  const bool one_row =
      planes.kernel[1] == 1 && planes.strides[0] == 1 && planes.strides[1] == 1 && planes.padded[1] == width;
  const int64_t together = one_row ? planes.output[0] : 1;
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  std::fill_n(buffer, planes.padded[0] * planes.padded[1] + kPoolSlack, identity);
  for (int64_t p = 0; p < count; ++p, in += size) {
    const bool exact = in_end - (in + size) < kPoolSlack;
    const T* from = in;
    if (!in_place || exact) {
      CopyPadded(planes, in, exact, identity, buffer);
      from = buffer;
    }
    if constexpr (KH == KW && KH >= 3) {
      // Narrow rows run into what comes after the plane, which must be there and be overwritten.
      if (strips && (width >= lanes || out_end - (out + planes.output[0] * width) >= lanes)) {
        SmallStrips<kKind, KH>(planes, from, out);
        out += planes.output[0] * width;
        continue;
      }
    }
    const T* scales = planes.scales;
    for (int64_t r = 0; r < planes.output[0]; r += together, out += together * width) {
      SmallRow<kKind, KH, KW>(planes, from, Piece<T>{nullptr, out, out_end, together * width, scales});
      from += planes.strides[0] * planes.padded[1];
      if (scales != nullptr) scales += width;
    }
  }
}

template <PoolKind kKind, class T>
void RunSmall(const SmallPlanes<T>& planes, int64_t count, const T* in, T* buffer, T* out) {
#if HWY_TARGET != HWY_SSE4  // old machines: not worth the build
  if (planes.kernel[0] == 2 && planes.kernel[1] == 2) return SmallPlanesOf<kKind, 2, 2>(planes, count, in, buffer, out);
  if (planes.kernel[0] == 3 && planes.kernel[1] == 3) return SmallPlanesOf<kKind, 3, 3>(planes, count, in, buffer, out);
  if (planes.kernel[0] == 5 && planes.kernel[1] == 5) return SmallPlanesOf<kKind, 5, 5>(planes, count, in, buffer, out);
#endif
  SmallPlanesOf<kKind, 0, 0>(planes, count, in, buffer, out);
}

template <class T>
void DispatchSmall(const SmallPlanes<T>& planes, int64_t count, const T* in, T* buffer, T* out) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (planes.kind) {
      case PoolKind::kMax: return RunSmall<PoolKind::kMax>(planes, count, in, buffer, out);
      case PoolKind::kSum: return RunSmall<PoolKind::kSum>(planes, count, in, buffer, out);
      case PoolKind::kSumOfAbs: return SmallPlanesOf<PoolKind::kSumOfAbs, 0, 0>(planes, count, in, buffer, out);
      case PoolKind::kSumOfSquares: return SmallPlanesOf<PoolKind::kSumOfSquares, 0, 0>(planes, count, in, buffer, out);
    }
  } else {
    RunSmall<PoolKind::kMax>(planes, count, in, buffer, out);
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
  T result = Op::OfLanes(d, a);
  for (; x < count; ++x) result = Op::CombineOne(result, Op::LoadOne(in[x]));
  return result;
}

void SlicesMax(const float* const* slices, int64_t count, int64_t size, float* to) {
  using Op = PoolOp<float, PoolKind::kMax>;
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count == 0) {
    std::fill_n(to, size, Op::Identity());
    return;
  }
  int64_t x = 0;
  for (; x + lanes <= size; x += lanes) {
    auto v = hn::LoadU(d, slices[0] + x);
    for (int64_t s = 1; s < count; ++s) v = Op::Combine(v, hn::LoadU(d, slices[s] + x));
    hn::StoreU(v, d, to + x);
  }
  for (; x < size; ++x) {
    to[x] = slices[0][x];
    for (int64_t s = 1; s < count; ++s) to[x] = Op::CombineOne(to[x], slices[s][x]);
  }
}

template <class T>
T DispatchReduce(PoolKind kind, const T* in, int64_t count) {
  switch (kind) {
    case PoolKind::kMax: return Reduce<T, PoolKind::kMax>(in, count);
    case PoolKind::kSum: return Reduce<T, PoolKind::kSum>(in, count);
    case PoolKind::kSumOfAbs: return Reduce<T, PoolKind::kSumOfAbs>(in, count);
    case PoolKind::kSumOfSquares: return Reduce<T, PoolKind::kSumOfSquares>(in, count);
  }
  return 0;
}

}  // namespace

float ReduceFloat(PoolKind kind, const float* in, int64_t count) { return DispatchReduce(kind, in, count); }
double ReduceDouble(PoolKind kind, const double* in, int64_t count) { return DispatchReduce(kind, in, count); }
void SmallPlanesFloat(const SmallPlanes<float>& planes, int64_t count, const float* in, float* buffer, float* out) {
  DispatchSmall(planes, count, in, buffer, out);
}
void SmallPlanesDouble(const SmallPlanes<double>& planes, int64_t count, const double* in, double* buffer, double* out) {
  DispatchSmall(planes, count, in, buffer, out);
}
void SmallPlanesUInt8(const SmallPlanes<uint8_t>& planes, int64_t count, const uint8_t* in, uint8_t* buffer, uint8_t* out) {
  DispatchSmall(planes, count, in, buffer, out);
}
void SmallPlanesInt8(const SmallPlanes<int8_t>& planes, int64_t count, const int8_t* in, int8_t* buffer, int8_t* out) {
  DispatchSmall(planes, count, in, buffer, out);
}
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(SmallPlanesFloat);
HWY_EXPORT(SmallPlanesDouble);
HWY_EXPORT(SmallPlanesUInt8);
HWY_EXPORT(SmallPlanesInt8);
HWY_EXPORT(SlicesMax);
HWY_EXPORT(ReduceFloat);
HWY_EXPORT(ReduceDouble);

void MaxOfSlices(const float* const* slices, int64_t count, int64_t size, float* to) {
  HWY_DYNAMIC_DISPATCH(SlicesMax)(slices, count, size, to);
}

template <>
float ReducePoolRow<float>(PoolKind kind, const float* in, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(ReduceFloat)(kind, in, count);
}
template <>
double ReducePoolRow<double>(PoolKind kind, const double* in, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(ReduceDouble)(kind, in, count);
}

template <class T>
void PoolSmallPlanes(const SmallPlanes<T>& planes, int64_t count, const T* in, T* buffer, T* out) {
  if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(SmallPlanesFloat)(planes, count, in, buffer, out);
  } else if constexpr (std::is_same_v<T, double>) {
    HWY_DYNAMIC_DISPATCH(SmallPlanesDouble)(planes, count, in, buffer, out);
  } else if constexpr (std::is_same_v<T, uint8_t>) {
    HWY_DYNAMIC_DISPATCH(SmallPlanesUInt8)(planes, count, in, buffer, out);
  } else {
    HWY_DYNAMIC_DISPATCH(SmallPlanesInt8)(planes, count, in, buffer, out);
  }
}
template void PoolSmallPlanes<float>(const SmallPlanes<float>&, int64_t, const float*, float*, float*);
template void PoolSmallPlanes<double>(const SmallPlanes<double>&, int64_t, const double*, double*, double*);
template void PoolSmallPlanes<uint8_t>(const SmallPlanes<uint8_t>&, int64_t, const uint8_t*, uint8_t*, uint8_t*);
template void PoolSmallPlanes<int8_t>(const SmallPlanes<int8_t>&, int64_t, const int8_t*, int8_t*, int8_t*);

}  // namespace tessera::cpu
#endif
