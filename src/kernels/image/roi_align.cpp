#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/image/roi_align.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "base/cancellation.h"
#include "kernels/image/roi_align.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {

template <class F>
void Average(const F* plane, int64_t width, const RoiAxis<F>& rows, const RoiAxis<F>& columns, F* HWY_RESTRICT blended,
             F* HWY_RESTRICT out) {
  int64_t left = width, right = 0;
  for (int64_t x = 0; x < columns.bins; ++x) {
    if (columns.count[x] == 0) continue;
    left = std::min<int64_t>(left, columns.first[x]);
    right = std::max<int64_t>(right, columns.first[x] + columns.count[x]);
  }
  const int64_t span = std::max<int64_t>(right - left, 0);
  PacedCancellationPoint look(0.3);
  for (int64_t y = 0; y < rows.bins; ++y) {
    look.Pass((rows.count[y] + 1) * span + columns.bins);
    const F* weights = rows.weights + y * rows.stride;
    const F* source = plane + rows.first[y] * width + left;
    const int64_t count = rows.count[y];
    for (int64_t i = 0; i < span; ++i) blended[i] = 0;
    int64_t r = 0;
    for (; r + 2 <= count; r += 2) {
      const F *HWY_RESTRICT a = source + r * width, *HWY_RESTRICT b = a + width;
      const F weight_a = weights[r], weight_b = weights[r + 1];
      for (int64_t i = 0; i < span; ++i) blended[i] += weight_a * a[i] + weight_b * b[i];
    }
    if (r < count) {
      const F* HWY_RESTRICT a = source + r * width;
      const F weight = weights[r];
      for (int64_t i = 0; i < span; ++i) blended[i] += weight * a[i];
    }
    for (int64_t x = 0; x < columns.bins; ++x) {
      if (columns.count[x] == 0) {
        *out++ = 0;
        continue;
      }
      const F* HWY_RESTRICT weight = columns.weights + x * columns.stride;
      const F* HWY_RESTRICT value = blended + (columns.first[x] - left);
      F sum = 0;
      for (int32_t i = 0; i < columns.count[x]; ++i) sum += weight[i] * value[i];
      *out++ = sum;
    }
  }
}

void AverageF32(const float* plane, int64_t width, const RoiAxis<float>& rows, const RoiAxis<float>& columns,
                float* blended, float* out) {
  Average(plane, width, rows, columns, blended, out);
}
void AverageF64(const double* plane, int64_t width, const RoiAxis<double>& rows, const RoiAxis<double>& columns,
                double* blended, double* out) {
  Average(plane, width, rows, columns, blended, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(AverageF32);
HWY_EXPORT(AverageF64);
template <>
void RoiAverage<float>(const float* plane, int64_t width, const RoiAxis<float>& rows, const RoiAxis<float>& columns,
                       float* blended, float* out) {
  HWY_DYNAMIC_DISPATCH(AverageF32)(plane, width, rows, columns, blended, out);
}
template <>
void RoiAverage<double>(const double* plane, int64_t width, const RoiAxis<double>& rows, const RoiAxis<double>& columns,
                        double* blended, double* out) {
  HWY_DYNAMIC_DISPATCH(AverageF64)(plane, width, rows, columns, blended, out);
}
}  // namespace tessera::cpu
#endif
