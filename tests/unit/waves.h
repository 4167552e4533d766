#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera::testing {

/// Numbers in [-scale, scale] that look unlike each other, the same in each run.
inline std::vector<float> Waves(int64_t count, float step, float scale = 1) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(scale * std::sin(static_cast<float>(i) * step + 0.3f));
  return numbers;
}

}  // namespace tessera::testing
