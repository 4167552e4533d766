#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/image/grid_sample.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

#include "kernels/image/grid_sample.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {

template <class F, int kRows, int kTaps>
HWY_INLINE F Point(const SampleTable<F>& table, const F* HWY_RESTRICT channel, int64_t p) {
  const int64_t rows = kRows != 0 ? kRows : table.rows, taps = kTaps != 0 ? kTaps : table.taps;
  const F* HWY_RESTRICT weights = table.tap_weights + p * taps;
  F sum = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const F* HWY_RESTRICT source = channel + table.offsets[p * rows + r];
    F row = 0;
    for (int64_t t = 0; t < taps; ++t) row += weights[t] * source[t];
    sum += table.row_weights[p * rows + r] * row;
  }
  return sum;
}

template <class F, int kRows, int kTaps>
void Points(const SampleTable<F>& table, const F* HWY_RESTRICT channel, F* HWY_RESTRICT out) {
  int64_t p = 0;
#if HWY_ARCH_X86
  if constexpr (std::is_same_v<F, float> && kTaps == 2 && kRows == 2) {
    // Four points at a time: pairs of both rows, weighted and added.
    const auto pairs = [&](int64_t i, int r) {
      const __m128 low =
          _mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(channel + table.offsets[2 * i + r])));
      return _mm_loadh_pi(low, reinterpret_cast<const __m64*>(channel + table.offsets[2 * i + 2 + r]));
    };
    const auto two = [&](int64_t i) {
      const __m128 weights = _mm_loadu_ps(table.row_weights + 2 * i);
      const __m128 top = _mm_mul_ps(pairs(i, 0), _mm_shuffle_ps(weights, weights, _MM_SHUFFLE(2, 2, 0, 0)));
      const __m128 bottom = _mm_mul_ps(pairs(i, 1), _mm_shuffle_ps(weights, weights, _MM_SHUFFLE(3, 3, 1, 1)));
      return _mm_mul_ps(_mm_add_ps(top, bottom), _mm_loadu_ps(table.tap_weights + 2 * i));
    };
    for (; p + 4 <= table.points; p += 4) _mm_storeu_ps(out + p, _mm_hadd_ps(two(p), two(p + 2)));
  }
  if constexpr (std::is_same_v<F, float> && kTaps == 4 && kRows == 4) {
    const auto one = [&](int64_t i) {
      const __m128 weights = _mm_loadu_ps(table.row_weights + 4 * i);
      const int32_t* offsets = table.offsets + 4 * i;
      const __m128 a = _mm_mul_ps(_mm_loadu_ps(channel + offsets[0]), _mm_shuffle_ps(weights, weights, 0x00));
      const __m128 b = _mm_mul_ps(_mm_loadu_ps(channel + offsets[1]), _mm_shuffle_ps(weights, weights, 0x55));
      const __m128 c = _mm_mul_ps(_mm_loadu_ps(channel + offsets[2]), _mm_shuffle_ps(weights, weights, 0xaa));
      const __m128 d = _mm_mul_ps(_mm_loadu_ps(channel + offsets[3]), _mm_shuffle_ps(weights, weights, 0xff));
      return _mm_mul_ps(_mm_add_ps(_mm_add_ps(a, b), _mm_add_ps(c, d)), _mm_loadu_ps(table.tap_weights + 4 * i));
    };
    for (; p + 4 <= table.points; p += 4) {
      _mm_storeu_ps(out + p, _mm_hadd_ps(_mm_hadd_ps(one(p), one(p + 1)), _mm_hadd_ps(one(p + 2), one(p + 3))));
    }
  }
#endif
  for (; p < table.points; ++p) out[p] = Point<F, kRows, kTaps>(table, channel, p);
}

template <class F>
void Channel(const SampleTable<F>& table, const F* channel, F* out) {
  if (table.rows == 2 && table.taps == 2) return Points<F, 2, 2>(table, channel, out);
  if (table.rows == 4 && table.taps == 4) return Points<F, 4, 4>(table, channel, out);
  if (table.rows == 4 && table.taps == 2) return Points<F, 4, 2>(table, channel, out);
  if (table.rows == 1 && table.taps == 1) return Points<F, 1, 1>(table, channel, out);
  Points<F, 0, 0>(table, channel, out);
}
void ChannelF32(const SampleTable<float>& table, const float* channel, float* out) { Channel(table, channel, out); }
void ChannelF64(const SampleTable<double>& table, const double* channel, double* out) { Channel(table, channel, out); }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(ChannelF32);
HWY_EXPORT(ChannelF64);
template <>
void SampleChannel<float>(const SampleTable<float>& table, const float* channel, float* out) {
  HWY_DYNAMIC_DISPATCH(ChannelF32)(table, channel, out);
}
template <>
void SampleChannel<double>(const SampleTable<double>& table, const double* channel, double* out) {
  HWY_DYNAMIC_DISPATCH(ChannelF64)(table, channel, out);
}
}  // namespace tessera::cpu
#endif
