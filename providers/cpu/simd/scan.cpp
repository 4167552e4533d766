// Running totals down columns.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/scan.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "simd/scan.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

template <bool kProduct, bool kExclusive, class T>
void Scan(const T* x, T* y, const ScanArguments& a) {
  HWY_ALIGN T total[kScanColumns];
  std::fill_n(total, a.columns, kProduct ? T{1} : T{0});
  for (int64_t k = 0, i = a.step > 0 ? 0 : a.count - 1; k < a.count; ++k, i += a.step) {
    const T* in = x + i * a.stride;
    T* out = y + i * a.stride;
#pragma GCC ivdep
    for (int64_t j = 0; j < a.columns; ++j) {
      const T next = kProduct ? total[j] * in[j] : total[j] + in[j];
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
