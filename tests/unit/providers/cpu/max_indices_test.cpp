#include "kernels/pool/max_indices.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tessera {
namespace {

struct Place {
  float maximum;
  int64_t at;
};

/// Output `o` as the definition has it: the first tap, then what is greater, as NaN is than numbers.
Place Expected(const std::vector<float>& plane, const cpu::MaxTaps& taps, int64_t start, int64_t o) {
  Place best{0, -1};
  for (const int64_t row : taps.rows) {
    for (int64_t k = 0; k < taps.kernel; ++k) {
      const int64_t at = row * taps.width + start + o * taps.stride + k * taps.dilation;
      const float value = plane[static_cast<size_t>(at)];
      const bool first_nan = std::isnan(value) && !std::isnan(best.maximum);
      if (best.at < 0 || value > best.maximum || first_nan) best = {value, at};
    }
  }
  return best;
}

/// Few different values, so that many are equal, and some that are no numbers. The plane ends with the last tap.
TEST(MaxIndices, AreThoseOfTheDefinition) {
  std::mt19937 random(7);
  const float values[] = {-std::numeric_limits<float>::infinity(), -1, 0, 1, 2, std::nanf("")};
  const std::vector<int64_t> rows = {0, 2, 3};
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t dilation : {1, 3}) {
      for (int64_t count = 1; count < 70; ++count) {
        const int64_t kernel = 1 + count % 4, start = count % 3;
        const int64_t width = start + (count - 1) * stride + (kernel - 1) * dilation + 1;
        std::vector<float> plane(static_cast<size_t>(4 * width));
        for (float& value : plane) value = values[random() % std::size(values)];
        const cpu::MaxTaps taps{rows, width, kernel, dilation, stride};
        std::vector<float> maxima(static_cast<size_t>(count));
        std::vector<int64_t> indices(static_cast<size_t>(count), -1);
        const int64_t done = cpu::MaximaWithIndices(plane.data(), taps, start, count, maxima.data(), indices.data());
        EXPECT_TRUE(done == 0 || done == count);
        EXPECT_TRUE(done == count || count < 16 || stride > 2);
        for (int64_t o = 0; o < done; ++o) {
          const Place expected = Expected(plane, taps, start, o);
          EXPECT_EQ(indices[static_cast<size_t>(o)], expected.at) << o << " of " << count;
          const float maximum = maxima[static_cast<size_t>(o)];
          EXPECT_TRUE(maximum == expected.maximum || (std::isnan(maximum) && std::isnan(expected.maximum)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera
