#pragma once

// Regions of a direct convolution's output in NCHW8c, whose pixels read the same taps: those at the borders leave out what
// would read padding.

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/conv/choose/problem.h"

namespace tessera::cpu {

/// Outputs along one axis that read the same taps inside the input.
struct Nchw8cBand {
  int64_t begin, end;
  int64_t first_tap, end_tap;
  int64_t taps() const { return end_tap - first_tap; }
};

struct Nchw8cRegion {
  Nchw8cBand z, y, x;
};

class Nchw8cRegions {
 public:
  /// `window`, which outlives it, has kSpatialAxes.
  explicit Nchw8cRegions(const Window& window);

  size_t count() const { return bands_[0].count * of_slice(); }
  /// How many a slice has.
  size_t of_slice() const { return bands_[1].count * bands_[2].count; }
  Nchw8cRegion at(size_t i) const;
  /// The number of region `i` of the output's slice `z`.
  size_t InSlice(int64_t z, size_t i) const;

  /// Where much of the window would read padding, as with large dilations, or whole slices are all the padding there is.
  bool Pay() const;
  /// Of the taps that all outputs read along the axes from `first` on, those inside the input.
  double Share(size_t first) const;

 private:
  static constexpr size_t kMostBands = 16;
  struct Bands {
    std::array<Nchw8cBand, kMostBands> held;
    size_t count = 0;

    /// False when there are too many.
    bool Find(const Window& window, size_t axis);
  };

  const Window& window_;
  std::array<Bands, kSpatialAxes> bands_;
  bool found_;
};

}  // namespace tessera::cpu
