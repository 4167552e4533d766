// Softmax along contiguous rows and along columns.

#include "base/rounding.h"
#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/normalize/softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "base/cancellation.h"
#include "kernels/elementwise/exp-inl.h"
#include "kernels/normalize/softmax.h"
#include "kernels/transpose/transpose.h"
#include "kernels/vector/load_first-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Elements of a row up to which it counts as short, and rows from which on they are processed together.
constexpr int64_t kShortRow = 24, kLeastRowsAbreast = 16;
/// And from which on it is long: each of its passes looks whether the run was cancelled.
constexpr int64_t kLongRow = int64_t{4} << 20;
constexpr double kElementNs = 1;
/// Rows whose exponentials are summed before they are added to the others.
constexpr int64_t kBlock = 256;

/// The maximum of a row; a NaN in the row may be lost here, the exponentials bring it back.
template <class T>
HWY_INLINE T MaxOf(const T* HWY_RESTRICT x, int64_t count) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  T top = -std::numeric_limits<T>::infinity();
  int64_t i = 0;
  if (count >= lanes) {
    auto a0 = hn::LoadU(d, x), a1 = a0, a2 = a0, a3 = a0;
    for (i = lanes; i + 4 * lanes <= count; i += 4 * lanes) {
      a0 = hn::Max(hn::LoadU(d, x + i), a0);
      a1 = hn::Max(hn::LoadU(d, x + i + lanes), a1);
      a2 = hn::Max(hn::LoadU(d, x + i + 2 * lanes), a2);
      a3 = hn::Max(hn::LoadU(d, x + i + 3 * lanes), a3);
    }
    for (; i + lanes <= count; i += lanes) a0 = hn::Max(hn::LoadU(d, x + i), a0);
    a1 = hn::Max(hn::LoadU(d, x + count - lanes), a1);  // some of it again
    i = count;
    top = hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(a0, a1), hn::Max(a2, a3))));
    if (top != top) top = -std::numeric_limits<T>::infinity();
  }
  for (; i < count; ++i) top = x[i] > top ? x[i] : top;
  return top;
}

/// exp(x - top) to y unless y is null; the sum of them. x <= top or NaN.
template <bool kStore, class T>
HWY_INLINE T ExpSum(const T* x, T* y, int64_t count, T top) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto shift = hn::Set(d, top);
  auto s0 = hn::Zero(d), s1 = s0;
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto e0 = ExpNotPositive(d, hn::Sub(hn::LoadU(d, x + i), shift));
    const auto e1 = ExpNotPositive(d, hn::Sub(hn::LoadU(d, x + i + lanes), shift));
    if (kStore) {
      hn::StoreU(e0, d, y + i);
      hn::StoreU(e1, d, y + i + lanes);
    }
    s0 = hn::Add(s0, e0);
    s1 = hn::Add(s1, e1);
  }
  for (; i < count; i += lanes) {
    const int64_t n = std::min(lanes, count - i);
    if (n == lanes) {
      const auto e = ExpNotPositive(d, hn::Sub(hn::LoadU(d, x + i), shift));
      if (kStore) hn::StoreU(e, d, y + i);
      s0 = hn::Add(s0, e);
    } else {
      // What lanes past the end hold may be anything.
      const auto valid = hn::FirstN(d, static_cast<size_t>(n));
      const auto e = hn::IfThenElseZero(valid, ExpNotPositive(d, hn::Sub(LoadFirst(d, x + i, n), shift)));
      if (kStore) StoreFirst(d, e, y + i, n);
      s1 = hn::Add(s1, e);
    }
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
}

/// y = f(x), which may be y.
template <class T, class F>
HWY_INLINE void MapRow(const T* x, T* y, int64_t count, const F& f) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i)), d, y + i);
  if (i < count) StoreFirst(d, f(LoadFirst(d, x + i, count - i)), y + i, count - i);
}

template <class T>
HWY_INLINE void Scale(T* y, int64_t count, T factor) {
  const auto factors = hn::Set(hn::ScalableTag<T>(), factor);
  MapRow(y, y, count, [&](auto v) HWY_ATTR { return hn::Mul(v, factors); });
}

template <class T>
HWY_INLINE void Subtract(const T* x, T* y, int64_t count, T top, T log_sum) {
  const hn::ScalableTag<T> d;
  const auto tops = hn::Set(d, top), logs = hn::Set(d, log_sum);
  MapRow(x, y, count, [&](auto v) HWY_ATTR { return hn::Sub(hn::Sub(v, tops), logs); });
}

/// exp(x - top) of rows to y, or of each to `row` where that is not null, added to `sum`.
template <class T>
HWY_INLINE void ExpColumns(const T* x, T* y, T* row, int64_t rows, int64_t stride, int64_t columns, const T* top, T* sum) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < rows; ++i) {
    const T* in = x + i * stride;
    T* out = row != nullptr ? row : y + i * stride;
    int64_t j = 0;
    for (; j + lanes <= columns; j += lanes) {
      const auto e = ExpNotPositive(d, hn::Sub(hn::LoadU(d, in + j), hn::Load(d, top + j)));
      hn::StoreU(e, d, out + j);
      hn::Store(hn::Add(hn::Load(d, sum + j), e), d, sum + j);
    }
    if (j < columns) {
      HWY_ALIGN T rest[HWY_LANES(T)] = {};
      std::copy_n(in + j, columns - j, rest);
      hn::Store(ExpNotPositive(d, hn::Sub(hn::Load(d, rest), hn::Load(d, top + j))), d, rest);
      for (int64_t k = 0; j + k < columns; ++k) {
        out[j + k] = rest[k];
        sum[j + k] += rest[k];
      }
    }
  }
}

template <class T>
void SoftmaxColumns(const T* x, T* y, int64_t count, int64_t stride, int64_t columns, bool log) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN T top[kSoftmaxColumns];
  HWY_ALIGN T sum[kSoftmaxColumns];
  HWY_ALIGN T of_block[kSoftmaxColumns];  // so that sums of many rows lose few digits
  HWY_ALIGN T row[kSoftmaxColumns];
  std::copy_n(x, columns, top);
  PacedCancellationPoint look(2);
  for (int64_t i = 1; i < count; ++i) {
    look.Pass(columns);
    const T* in = x + i * stride;
    for (int64_t j = 0; j < columns; ++j) top[j] = in[j] > top[j] ? in[j] : top[j];
  }
  std::fill(top + columns, top + std::min(RoundUp(columns, lanes), kSoftmaxColumns), T{0});
  std::fill_n(sum, columns, T{0});
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t rows = std::min(kBlock, count - i);
    look.Pass(rows * columns);
    std::fill_n(of_block, columns, T{0});
    ExpColumns(x + i * stride, y + i * stride, log ? row : nullptr, rows, stride, columns, top, of_block);
    for (int64_t j = 0; j < columns; ++j) sum[j] += of_block[j];
  }
  if (log) {
    for (int64_t j = 0; j < columns; ++j) sum[j] = std::log(sum[j]);
    for (int64_t i = 0; i < count; ++i) {
      look.Pass(columns);
      const T* in = x + i * stride;
      T* out = y + i * stride;
      for (int64_t j = 0; j < columns; ++j) out[j] = (in[j] - top[j]) - sum[j];
    }
  } else {
    for (int64_t j = 0; j < columns; ++j) sum[j] = T{1} / sum[j];
    for (int64_t i = 0; i < count; ++i) {
      look.Pass(columns);
      T* out = y + i * stride;
      for (int64_t j = 0; j < columns; ++j) out[j] *= sum[j];
    }
  }
}

/// Rows that would leave most lanes empty are processed together, transposed.
template <class T>
void ShortRows(const T* x, T* y, int64_t rows, int64_t count, bool log) {
  constexpr int64_t kSize = sizeof(T), kRows = 256 / kSize;  // 6 KiB of them
  static const TransposeTile transpose = TransposeTileOf(kSize);
  HWY_ALIGN T columns[kShortRow * kRows];
  auto* panel = reinterpret_cast<std::byte*>(columns);
  for (int64_t i = 0; i < rows; i += kRows) {
    const int64_t n = std::min(kRows, rows - i);
    transpose(reinterpret_cast<const std::byte*>(x + i * count), count * kSize, panel, kRows * kSize, n, count);
    SoftmaxColumns(columns, columns, count, kRows, n, log);
    transpose(panel, kRows * kSize, reinterpret_cast<std::byte*>(y + i * count), count * kSize, count, n);
  }
}

/// A row whose passes take milliseconds each.
template <class T>
void LongRow(const T* x, T* y, int64_t count, bool log) {
  const auto pass = [&](auto&& f) {
    InCancellablePieces(0, count, kElementNs,
                        [&](int64_t begin, int64_t end) HWY_ATTR { f(x + begin, y + begin, end - begin); });
  };
  T top = -std::numeric_limits<T>::infinity(), sum = 0;
  pass([&](const T* in, T*, int64_t n) HWY_ATTR { top = std::max(top, MaxOf(in, n)); });
  if (log) {
    pass([&](const T* in, T* out, int64_t n) HWY_ATTR { sum += ExpSum<false>(in, out, n, top); });
    const T log_sum = std::log(sum);
    pass([&](const T* in, T* out, int64_t n) HWY_ATTR { Subtract(in, out, n, top, log_sum); });
  } else {
    pass([&](const T* in, T* out, int64_t n) HWY_ATTR { sum += ExpSum<true>(in, out, n, top); });
    const T factor = T{1} / sum;
    pass([&](const T*, T* out, int64_t n) HWY_ATTR { Scale(out, n, factor); });
  }
}

template <class T>
void SoftmaxRows(const T* x, T* y, int64_t rows, int64_t count, bool log) {
  if (count <= kShortRow && rows >= kLeastRowsAbreast) return ShortRows(x, y, rows, count, log);
  if (count > kLongRow) {
    for (int64_t i = 0; i < rows; ++i) LongRow(x + i * count, y + i * count, count, log);
    return;
  }
  PacedCancellationPoint look(2);
  for (int64_t i = 0; i < rows; ++i, x += count, y += count) {
    look.Pass(count);
    const T top = MaxOf(x, count);
    if (log) {
      Subtract(x, y, count, top, static_cast<T>(std::log(ExpSum<false>(x, y, count, top))));
    } else {
      Scale(y, count, T{1} / ExpSum<true>(x, y, count, top));
    }
  }
}

}  // namespace

SoftmaxKernels<float> SoftmaxTableF32() { return {SoftmaxRows<float>, SoftmaxColumns<float>}; }
SoftmaxKernels<double> SoftmaxTableF64() { return {SoftmaxRows<double>, SoftmaxColumns<double>}; }

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(SoftmaxTableF32);
HWY_EXPORT(SoftmaxTableF64);

const SoftmaxKernels<float>& SoftmaxKernelsF32() {
  static const auto table = HWY_DYNAMIC_DISPATCH(SoftmaxTableF32)();
  return table;
}
const SoftmaxKernels<double>& SoftmaxKernelsF64() {
  static const auto table = HWY_DYNAMIC_DISPATCH(SoftmaxTableF64)();
  return table;
}

}  // namespace tessera::cpu
#endif
