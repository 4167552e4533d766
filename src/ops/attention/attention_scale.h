#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tessera {

/// What the attentions of com.microsoft multiply scores with: the attribute `scale`, or 1 / sqrt(width) where it is 0.
inline float AttentionScale(float scale, int64_t width) {
  return scale != 0 ? scale : 1.0f / std::sqrt(static_cast<float>(std::max<int64_t>(width, 1)));
}

}  // namespace tessera
