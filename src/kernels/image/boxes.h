#pragma once

// Overlap of boxes.

#include <cstdint>

namespace tessera::cpu {

/// Corners and areas, one array each, so that one box is compared with many at a time.
struct BoxArrays {
  float* x_min;
  float* y_min;
  float* x_max;
  float* y_max;
  float* area;
};

/// True when the intersection over union of the box with any of the first `count` of `boxes` exceeds `threshold`. Arrays
/// must be readable up to a multiple of 16 boxes.
bool OverlapsAny(const BoxArrays& boxes, int64_t count, float x_min, float y_min, float x_max, float y_max, float area,
                 float threshold);

}  // namespace tessera::cpu
