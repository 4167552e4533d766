// Sliding sums of squares and the division by their power.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/normalize/lrn.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "kernels/normalize/lrn.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void Slide(double* HWY_RESTRICT window, const T* HWY_RESTRICT enters, const T* HWY_RESTRICT leaves, int64_t count) {
  if (enters != nullptr && leaves != nullptr) {
    for (int64_t i = 0; i < count; ++i) {
      const double in = enters[i], out = leaves[i];
      window[i] += in * in - out * out;
    }
  } else if (enters != nullptr) {
    for (int64_t i = 0; i < count; ++i) window[i] += static_cast<double>(enters[i]) * enters[i];
  } else if (leaves != nullptr) {
    for (int64_t i = 0; i < count; ++i) window[i] -= static_cast<double>(leaves[i]) * leaves[i];
  }
}

template <class T>
void Divide(const T* HWY_RESTRICT x, const double* HWY_RESTRICT window, T* HWY_RESTRICT y, int64_t count, double alpha,
            double beta, double bias) {
  if (beta == 0.75) {
    for (int64_t i = 0; i < count; ++i) {
      const T root = std::sqrt(static_cast<T>(bias + alpha * window[i]));
      y[i] = x[i] / (root * std::sqrt(root));
    }
  } else if (beta == 0.5) {
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] / std::sqrt(static_cast<T>(bias + alpha * window[i]));
  } else if (beta == 1) {
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] / static_cast<T>(bias + alpha * window[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(x[i] / std::pow(bias + alpha * window[i], beta));
  }
}

template <class T>
LrnKernels<T> Table() {
  return {Slide<T>, Divide<T>};
}

}  // namespace

LrnKernels<float> LrnTableF32() { return Table<float>(); }
LrnKernels<double> LrnTableF64() { return Table<double>(); }

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(LrnTableF32);
HWY_EXPORT(LrnTableF64);

template <>
const LrnKernels<float>& LrnKernelsOf<float>() {
  static const auto table = HWY_DYNAMIC_DISPATCH(LrnTableF32)();
  return table;
}
template <>
const LrnKernels<double>& LrnKernelsOf<double>() {
  static const auto table = HWY_DYNAMIC_DISPATCH(LrnTableF64)();
  return table;
}

}  // namespace tessera::cpu
#endif
