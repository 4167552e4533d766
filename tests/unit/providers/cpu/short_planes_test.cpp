// Kernels of quantized and of normalized planes of few elements: of every size around those of vectors, in memory that
// ends with them, on each instruction set that this processor has.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "guarded.h"
#include "kernels/normalize/normalize.h"
#include "kernels/quantize/quantize.h"
#include "kernels/reduce/sum_bytes.h"
#include "on_each_target.h"
#include "random_numbers.h"

namespace tessera::testing {
namespace {

class ShortPlanes : public TestOfTarget {};

INSTANTIATE_TEST_SUITE_P(On, ShortPlanes, EachTarget(), NameOfTarget);

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T>
std::vector<T> Bytes(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> bytes(static_cast<size_t>(count));
  for (T& byte : bytes) byte = static_cast<T>(random());
  return bytes;
}

/// Rounded, moved by the zero point and saturated; NaN is the least.
template <class T>
T Quantized(double real, int zero) {
  const double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  const double moved = std::nearbyint(real) + zero;
  return static_cast<T>(std::isnan(moved) ? low : std::clamp(moved, low, high));
}

/// With scales that leave nothing to rounding, and with some that leave no number.
template <class T>
void ExpectCombined(bool multiplies, float a_scale, float b_scale, float offset) {
  const bool is_signed = std::is_signed_v<T>;
  for (const int64_t count : {1, 7, 8, 31, 32, 33, 63, 64, 100, 129}) {
    const Guarded<T> a(Bytes<T>(count, 1)), b(Bytes<T>(count, 2)), out(static_cast<size_t>(count));
    const int zero = is_signed ? -9 : 131;
    const cpu::QuantizedArithmetic how{is_signed, multiplies, a_scale, b_scale, offset, 3, 5, zero};
    cpu::CombineQuantized(how, a.data(), b.data(), out.data(), count);
    for (int64_t i = 0; i < count; ++i) {
      const float x = a.data()[i], y = b.data()[i];
      const float real = multiplies ? (x - 3) * (y - 5) * a_scale : std::fma(x, a_scale, std::fma(y, b_scale, offset));
      ASSERT_EQ(out.data()[i], Quantized<T>(real, zero)) << i << " of " << count << ", " << x << " and " << y;
    }
  }
}

TEST_P(ShortPlanes, AreAddedAndMultiplied) {
  for (const bool multiplies : {false, true}) {
    for (const auto& [a, b, offset] :
         {std::tuple{0.5f, 0.25f, -3.0f}, std::tuple{-0.5f, 2.0f, 7.5f}, std::tuple{0x1p40f, 0.0f, 1.0f},
          std::tuple{-0x1p40f, 0x1p20f, 0.0f}, std::tuple{kInfinity, 1.0f, 0.0f}, std::tuple{std::nanf(""), 1.0f, 0.0f},
          std::tuple{0.5f, 0.5f, -kInfinity}, std::tuple{0x1p-9f, 0x1p-9f, 0.0f}}) {
      ExpectCombined<uint8_t>(multiplies, a, b, offset);
      ExpectCombined<int8_t>(multiplies, a, b, offset);
    }
  }
}

template <class T>
void ExpectQuantized(ElementType type) {
  const float low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max(), scale = 0.125f;
  const float zero = std::is_signed_v<T> ? -3 : 128;
  for (int64_t count = 1; count <= 140; ++count) {
    std::vector<float> x = Random(static_cast<size_t>(count), static_cast<unsigned>(count), -30, 30);
    const float specials[] = {kInfinity, -kInfinity, std::nanf(""), 1e30f, 0.1875f, -0.0625f};
    for (size_t i = 0; i < std::size(specials); ++i)
      x[(i * 7) % static_cast<size_t>(count)] = specials[(i + static_cast<size_t>(count)) % 6];
    const Guarded<float> in(x);
    const Guarded<T> out(static_cast<size_t>(count));
    cpu::FindQuantizeLoop(type)(in.data(), &scale, &zero, 0, low, high, out.data(), count);
    for (int64_t i = 0; i < count; ++i)
      ASSERT_EQ(out.data()[i], Quantized<T>(in.data()[i] / scale, static_cast<int>(zero))) << i << " of " << count;
  }
}

TEST_P(ShortPlanes, AreQuantized) {
  ExpectQuantized<uint8_t>(ElementType::kUInt8);
  ExpectQuantized<int8_t>(ElementType::kInt8);
}

template <class T>
void ExpectDequantized(ElementType type) {
  constexpr int64_t kPlanes = 5;
  const std::vector<float> scales = {0.5f, 1.5f, -2, kInfinity, 0}, zeros = {0, 3, -1, 7, 100};
  for (int64_t count = 1; count <= 70; ++count) {
    const Guarded<T> in(Bytes<T>(kPlanes * count, static_cast<unsigned>(count)));
    const Guarded<float> out(static_cast<size_t>(kPlanes * count));
    cpu::FindDequantizeLoops(type).planes(in.data(), scales.data(), zeros.data(), kPlanes, out.data(), count);
    for (int64_t i = 0; i < kPlanes * count; ++i) {
      const auto p = static_cast<size_t>(i / count);
      const float expected = (static_cast<float>(in.data()[i]) - zeros[p]) * scales[p], found = out.data()[i];
      ASSERT_TRUE(found == expected || (std::isnan(found) && std::isnan(expected))) << i << " of planes of " << count;
    }
  }
}

TEST_P(ShortPlanes, AreDequantized) {
  ExpectDequantized<uint8_t>(ElementType::kUInt8);
  ExpectDequantized<int8_t>(ElementType::kInt8);
  ExpectDequantized<uint16_t>(ElementType::kUInt16);
}

template <class T>
void ExpectMeans(int64_t planes, int64_t size, float scale) {
  const bool is_signed = std::is_signed_v<T>;
  const Guarded<T> in(Bytes<T>(planes * size, static_cast<unsigned>(size)));
  const Guarded<T> out(static_cast<size_t>(planes));
  const Guarded<int64_t> sums(static_cast<size_t>(planes));
  const auto* bytes = reinterpret_cast<const uint8_t*>(in.data());
  cpu::SumBytes(bytes, is_signed, planes, size, sums.data());
  const cpu::QuantizedMean how{is_signed, size, 4, scale, 0.5f, is_signed ? -7.0f : 9.0f};
  cpu::QuantizeMeans(how, sums.data(), planes, reinterpret_cast<uint8_t*>(out.data()));
  for (int64_t p = 0; p < planes; ++p) {
    int64_t sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += in.data()[p * size + i];
    ASSERT_EQ(sums.data()[p], sum) << p << " of " << planes << " of " << size;
    const float mean = static_cast<float>(static_cast<double>(sum) / static_cast<double>(size)) - how.zero;
    const T expected = Quantized<T>(mean * how.scale / how.result_scale, static_cast<int>(how.result_zero));
    ASSERT_EQ(out.data()[p], expected) << p << " of " << planes << " of " << size;
  }
}

TEST_P(ShortPlanes, HaveMeans) {
  for (int64_t size = 1; size <= 150; ++size) {
    for (const int64_t planes : {1, 2, 3, 8, 67}) {
      ExpectMeans<uint8_t>(planes, size, 0.37f);
      ExpectMeans<int8_t>(planes, size, 0.37f);
    }
  }
  for (const float scale : {1e30f, -1e30f, kInfinity, std::nanf("")}) {
    ExpectMeans<uint8_t>(9, 16, scale);
    ExpectMeans<int8_t>(9, 16, scale);
  }
}

/// Also where they lie.
template <class T>
void ExpectMapped(int64_t planes, int64_t count) {
  std::vector<T> mean, a, b;
  for (int64_t p = 0; p < planes; ++p) {
    mean.push_back(static_cast<T>(p) / 4);
    a.push_back(static_cast<T>(p + 1) / 2);
    b.push_back(static_cast<T>(3 - p));
  }
  std::vector<T> x;
  for (const float value : Random(static_cast<size_t>(planes * count), static_cast<unsigned>(count)))
    x.push_back(std::round(value * 64));
  const Guarded<T> in(x), out(x.size()), in_place(x);
  const auto& kernels = cpu::NormalizeKernelsOf<T>();
  kernels.affine_planes(in.data(), out.data(), planes, count, mean.data(), a.data(), b.data());
  kernels.affine_planes(in_place.data(), in_place.data(), planes, count, mean.data(), a.data(), b.data());
  for (int64_t i = 0; i < planes * count; ++i) {
    const auto p = static_cast<size_t>(i / count);
    const T expected = (x[static_cast<size_t>(i)] - mean[p]) * a[p] + b[p];
    ASSERT_EQ(out.data()[i], expected) << i << " of planes of " << count;
    ASSERT_EQ(in_place.data()[i], expected) << i << " of planes of " << count;
  }
}

TEST_P(ShortPlanes, AreMapped) {
  for (int64_t count = 1; count <= 70; ++count) {
    ExpectMapped<float>(5, count);
    ExpectMapped<double>(5, count);
  }
}

}  // namespace
}  // namespace tessera::testing
