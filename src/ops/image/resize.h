#pragma once

// Resize (10, 11, 13, 18, 19), Upsample (1, 7, 9, 10).

#include <cstdint>
#include <vector>

#include "tessera/provider/graph.h"

namespace tessera {

enum class ResampleMode : uint8_t { kNearest, kLinear, kCubic };

enum class CoordinateMode : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize,
};

/// kSimple: floor going up, ceil going down, as before version 11.
enum class NearestMode : uint8_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil, kSimple };

/// How an output position is computed from those of the input.
struct ResampleOptions {
  ResampleMode mode = ResampleMode::kNearest;
  CoordinateMode coordinates = CoordinateMode::kHalfPixel;
  NearestMode nearest = NearestMode::kRoundPreferFloor;
  bool antialias = false;
  bool exclude_outside = false;
  double cubic_a = -0.75;
  float extrapolation_value = 0;
};

/// What sizes bound where the proportions are kept.
enum class AspectPolicy : uint8_t { kStretch, kNotLarger, kNotSmaller };

struct ResizeAttributes {
  explicit ResizeAttributes(const Node& node);

  bool upsample;
  bool early;  // scales are all that there is beside the mode: Upsample, and Resize before version 11
  bool scales_in_input;
  std::vector<float> scales;  // else
  ResampleOptions options;
  std::vector<int64_t> axes;  // that scales and sizes are for; empty: all
  AspectPolicy policy;
};

}  // namespace tessera
