#pragma once

// Micro-kernels of reductions: folds of contiguous rows to one number each, and of many rows to one row.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

namespace tessera::cpu {

/// What is folded: elements, or a function of the element, joined by sum, product, maximum or minimum. Maximum and minimum
/// of floats are NaN when any element is.
enum class Fold : int8_t {
  kSum,
  kSumAbs,
  kSumSquare,
  kProd,
  kMax,
  kMin,
  kSumExp,             // sum of exp(x - shift); floats only
  kSumSquareCentered,  // sum of (x - shift)^2; floats only
};

/// Accumulator across blocks: float sums gather in double, so that long reductions lose nothing.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;

template <class T>
struct FoldKernels {
  /// acc[i] = acc[i] joined with the fold of x[i * stride .. + count), for i < rows. `shift` has one element per row.
  void (*rows)(const T* x, int64_t rows, int64_t stride, int64_t count, const T* shift, Wide<T>* acc);
  /// acc[j] = acc[j] joined with the fold of x[i * stride + j] over i < rows, for j < columns <= kFoldColumns. `shift` has
  /// one element per column.
  void (*columns)(const T* x, int64_t rows, int64_t stride, int64_t columns, const T* shift, Wide<T>* acc);
};

inline constexpr int64_t kFoldColumns = 1024;

inline constexpr size_t kFoldCount = 8;
template <class T>
using FoldTable = std::array<FoldKernels<T>, kFoldCount>;  // by Fold
using IntegerFoldTables = std::tuple<FoldTable<int32_t>, FoldTable<int64_t>, FoldTable<uint32_t>, FoldTable<uint64_t>,
                                     FoldTable<int8_t>, FoldTable<uint8_t>>;

/// T: float and double with every Fold, int32_t and int64_t with those that have no shift (arithmetic wraps), uint32_t,
/// uint64_t, int8_t and uint8_t with kMax and kMin.
template <class T>
const FoldKernels<T>& FoldKernelsOf(Fold fold);

/// The value of an empty fold.
template <class T>
constexpr T FoldIdentity(Fold fold) {
  using Limits = std::numeric_limits<T>;
  switch (fold) {
    case Fold::kProd: return T{1};
    case Fold::kMax: return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case Fold::kMin: return Limits::has_infinity ? Limits::infinity() : Limits::max();
    default: return T{0};
  }
}

/// Two folds of parts joined.
template <class T>
T JoinFolds(Fold fold, T a, T b) {
  switch (fold) {
    case Fold::kMax: return b > a || b != b ? b : a;
    case Fold::kMin: return b < a || b != b ? b : a;
    case Fold::kProd:
      if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      } else {
        return a * b;
      }
    default:
      if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      } else {
        return a + b;
      }
  }
}

}  // namespace tessera::cpu
