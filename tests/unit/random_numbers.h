#pragma once

#include <random>
#include <vector>

namespace tessera::testing {

/// Numbers from low to high, the same for the same seed.
inline std::vector<float> Random(size_t count, unsigned seed, float low = -1, float high = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(low, high);
  std::vector<float> values(count);
  for (float& v : values) v = value(random);
  return values;
}

}  // namespace tessera::testing
