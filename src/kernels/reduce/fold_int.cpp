// Folds of integers, as plain loops that every target vectorizes. Sums and products wrap.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/fold_int.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/reduce/fold.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

/// Joins an element with an accumulator; A is T or, where arithmetic wraps, its unsigned form.
template <Fold F, class A>
HWY_INLINE A Step(A acc, A x) {
  if constexpr (F == Fold::kMax) {
    return x > acc ? x : acc;
  } else if constexpr (F == Fold::kMin) {
    return x < acc ? x : acc;
  } else if constexpr (F == Fold::kProd) {
    return acc * x;
  } else if constexpr (F == Fold::kSumSquare) {
    return acc + x * x;
  } else if constexpr (F == Fold::kSumAbs) {
    return acc + (static_cast<std::make_signed_t<A>>(x) < 0 ? A{0} - x : x);
  } else {
    return acc + x;
  }
}

template <Fold F, class T>
using Accumulator = std::conditional_t<F == Fold::kMax || F == Fold::kMin, T, std::make_unsigned_t<T>>;

template <Fold F, class T>
void FoldRows(const T* x, int64_t rows, int64_t stride, int64_t count, const T*, T* acc) {
  using A = Accumulator<F, T>;
  for (int64_t i = 0; i < rows; ++i) {
    const T* HWY_RESTRICT row = x + i * stride;
    A a = static_cast<A>(acc[i]);
    for (int64_t j = 0; j < count; ++j) a = Step<F>(a, static_cast<A>(row[j]));
    acc[i] = static_cast<T>(a);
  }
}

template <Fold F, class T>
void FoldColumns(const T* x, int64_t rows, int64_t stride, int64_t columns, const T*, T* HWY_RESTRICT acc) {
  using A = Accumulator<F, T>;
  for (int64_t i = 0; i < rows; ++i) {
    const T* HWY_RESTRICT row = x + i * stride;
    for (int64_t j = 0; j < columns; ++j) acc[j] = static_cast<T>(Step<F>(static_cast<A>(acc[j]), static_cast<A>(row[j])));
  }
}

template <Fold F, class T>
constexpr FoldKernels<T> Pair() {
  return {FoldRows<F, T>, FoldColumns<F, T>};
}

template <class T>
FoldTable<T> ArithmeticTable() {
  return {Pair<Fold::kSum, T>(),  Pair<Fold::kSumAbs, T>(), Pair<Fold::kSumSquare, T>(),
          Pair<Fold::kProd, T>(), Pair<Fold::kMax, T>(),    Pair<Fold::kMin, T>()};
}

template <class T>
FoldTable<T> OrderTable() {
  FoldTable<T> table = {};
  table[static_cast<size_t>(Fold::kMax)] = Pair<Fold::kMax, T>();
  table[static_cast<size_t>(Fold::kMin)] = Pair<Fold::kMin, T>();
  return table;
}

}  // namespace

IntegerFoldTables IntegerFolds() {
  return {ArithmeticTable<int32_t>(), ArithmeticTable<int64_t>(), OrderTable<uint32_t>(),
          OrderTable<uint64_t>(),     OrderTable<int8_t>(),       OrderTable<uint8_t>()};
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(IntegerFolds);

namespace {

template <class T>
const FoldKernels<T>& IntegerKernels(Fold fold) {
  static const IntegerFoldTables tables = HWY_DYNAMIC_DISPATCH(IntegerFolds)();
  return std::get<FoldTable<T>>(tables)[static_cast<size_t>(fold)];
}

}  // namespace

#define TESSERA_INTEGER_FOLD(T)                       \
  template <>                                         \
  const FoldKernels<T>& FoldKernelsOf<T>(Fold fold) { \
    return IntegerKernels<T>(fold);                   \
  }
TESSERA_INTEGER_FOLD(int32_t)
TESSERA_INTEGER_FOLD(int64_t)
TESSERA_INTEGER_FOLD(uint32_t)
TESSERA_INTEGER_FOLD(uint64_t)
TESSERA_INTEGER_FOLD(int8_t)
TESSERA_INTEGER_FOLD(uint8_t)
#undef TESSERA_INTEGER_FOLD

}  // namespace tessera::cpu
#endif
