// Running totals down columns.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/scan.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "base/cancellation.h"
#include "base/work_array.h"
#include "kernels/reduce/scan.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

template <bool kProduct, class T>
HWY_INLINE T Join(T a, T b) {
  return kProduct ? a * b : a + b;
}

template <bool kProduct, bool kExclusive, class T>
void Scan(const T* x, T* y, const ScanArguments& a) {
  const WorkArray<T> totals(static_cast<size_t>(a.columns));
  T* HWY_RESTRICT total = totals;
  std::fill_n(total, a.columns, kProduct ? T{1} : T{0});
  // Four rows at a time, so that the totals are loaded and stored seldom.
  const int64_t step = a.step * a.stride;
  const T* in = x + (a.step > 0 ? 0 : (a.count - 1) * a.stride);
  T* out = y + (in - x);
  int64_t k = 0;
  PacedCancellationPoint look(0.5);
  for (; k + 4 <= a.count; k += 4, in += 4 * step, out += 4 * step) {
    look.Pass(4 * a.columns);
#pragma GCC ivdep
    for (int64_t j = 0; j < a.columns; ++j) {
      const T t0 = total[j];
      const T t1 = Join<kProduct>(t0, in[j]);
      const T t2 = Join<kProduct>(t1, in[step + j]);
      const T t3 = Join<kProduct>(t2, in[2 * step + j]);
      const T t4 = Join<kProduct>(t3, in[3 * step + j]);
      out[j] = kExclusive ? t0 : t1;
      out[step + j] = kExclusive ? t1 : t2;
      out[2 * step + j] = kExclusive ? t2 : t3;
      out[3 * step + j] = kExclusive ? t3 : t4;
      total[j] = t4;
    }
  }
  for (; k < a.count; ++k, in += step, out += step) {
#pragma GCC ivdep
    for (int64_t j = 0; j < a.columns; ++j) {
      const T next = Join<kProduct>(total[j], in[j]);
      out[j] = kExclusive ? total[j] : next;
      total[j] = next;
    }
  }
}

template <class T>
void ScanSums(const T* x, T* y, const ScanArguments& a) {
  a.exclusive ? Scan<false, true>(x, y, a) : Scan<false, false>(x, y, a);
}
template <class T>
void ScanProducts(const T* x, T* y, const ScanArguments& a) {
  a.exclusive ? Scan<true, true>(x, y, a) : Scan<true, false>(x, y, a);
}

template <class T>
ScanColumns<T> Choose(bool product) {
  return product ? ScanProducts<T> : ScanSums<T>;
}

}  // namespace

ScanColumns<float> ScanF32(bool product) { return Choose<float>(product); }
ScanColumns<double> ScanF64(bool product) { return Choose<double>(product); }
ScanColumns<uint32_t> ScanU32(bool product) { return Choose<uint32_t>(product); }
ScanColumns<uint64_t> ScanU64(bool product) { return Choose<uint64_t>(product); }

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(ScanF32);
HWY_EXPORT(ScanF64);
HWY_EXPORT(ScanU32);
HWY_EXPORT(ScanU64);

template <>
ScanColumns<float> ScanColumnsOf<float>(bool product) {
  return HWY_DYNAMIC_DISPATCH(ScanF32)(product);
}
template <>
ScanColumns<double> ScanColumnsOf<double>(bool product) {
  return HWY_DYNAMIC_DISPATCH(ScanF64)(product);
}
template <>
ScanColumns<uint32_t> ScanColumnsOf<uint32_t>(bool product) {
  return HWY_DYNAMIC_DISPATCH(ScanU32)(product);
}
template <>
ScanColumns<uint64_t> ScanColumnsOf<uint64_t>(bool product) {
  return HWY_DYNAMIC_DISPATCH(ScanU64)(product);
}

}  // namespace tessera::cpu
#endif
