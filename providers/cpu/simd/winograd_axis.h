#pragma once

#include <algorithm>

#include "base/rounding.h"

namespace tessera::cpu {

constexpr int64_t kWinogradTile = 4;  // output pixels along each axis

/// The tiles along an axis. Where the taps are a dilation apart, so are a tile's pixels: each offset below the dilation is an
/// image of its own, whose tiles follow those of the offset before.
struct WinogradAxis {
  int64_t size;  // output pixels
  int64_t dilation = 1;

  int64_t tiles() const { return dilation * tiles_of_offset(); }
  /// The first output pixel of a tile; `size` or more where the tile is empty.
  int64_t first_pixel(int64_t tile) const {
    if (dilation == 1) return kWinogradTile * tile;
    return tile / tiles_of_offset() + tile % tiles_of_offset() * kWinogradTile * dilation;
  }
  /// Output pixels of the tile that begins at `first`.
  int64_t pixels_from(int64_t first) const { return first >= size ? 0 : std::min(kWinogradTile, (size - first - 1) / dilation + 1); }
  /// Of `count` pixels of the input from `first` on, is any outside [0, input)?
  bool leaves(int64_t first, int64_t count, int64_t input) const { return first < 0 || first + (count - 1) * dilation >= input; }

 private:
  int64_t tiles_of_offset() const { return CeilDiv(size, kWinogradTile * dilation); }
};

}  // namespace tessera::cpu
