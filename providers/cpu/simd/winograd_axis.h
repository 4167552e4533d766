#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/rounding.h"

namespace tessera::cpu {

constexpr int64_t kWinogradTile = 4;  // output pixels along each axis

/// What a tile of a 3x3 convolution is. Its input becomes planes, a point's product sums over the channels of one or more planes.
enum class WinogradForm : uint8_t {
  kFour,     // F(4x4, 3x3): 36 products for 16 pixels, where the window alone has 144
  kTwo,      // F(2x2, 3x3): 16 for 4 instead of 36, for images whose tiles of four would be few, or mostly outside
  kStrided,  // stride 2, pixels 2x2: of a line's taps the outer two are F(2, 2) over every other input, the middle one reads
             // those between, five products for two pixels instead of six and 25 for 4 instead of 36
};

/// Along one axis; a tile has what two axes make.
struct WinogradPlanes {
  int64_t side, stride;            // output pixels; inputs from pixel to pixel
  int64_t points, planes;
  std::array<int8_t, 7> first;     // plane of each point, and past the last

  constexpr int64_t reach() const { return (side - 1) * stride + 3; }  // inputs of a tile
  constexpr int64_t all_points() const { return points * points; }
  constexpr int64_t all_planes() const { return planes * planes; }
  constexpr int64_t of(int64_t point) const { return first[static_cast<size_t>(point) + 1] - first[static_cast<size_t>(point)]; }
  /// A point's planes are neighbours: (y, x) is number y * points + x.
  constexpr int64_t FirstPlane(int64_t point) const {
    const int64_t y = point / points, x = point % points;
    return first[static_cast<size_t>(y)] * planes + of(y) * first[static_cast<size_t>(x)];
  }
  /// A power of two, as the planes of any point are.
  constexpr int64_t most_planes() const { return planes == points ? 1 : 4; }
  constexpr int64_t PlanesOf(int64_t point) const { return of(point / points) * of(point % points); }
};

constexpr WinogradPlanes PlanesOf(WinogradForm form) {
  switch (form) {
    case WinogradForm::kTwo:
      return {2, 1, 4, 4, {0, 1, 2, 3, 4}};
    case WinogradForm::kStrided:
      return {2, 2, 3, 5, {0, 2, 3, 5}};
    default:
      return {kWinogradTile, 1, 6, 6, {0, 1, 2, 3, 4, 5, 6}};
  }
}

/// The tiles along an axis. Where the taps are a dilation apart, so are a tile's pixels: each offset below the dilation is an
/// image of its own, whose tiles follow those of the offset before.
struct WinogradAxis {
  int64_t size;  // output pixels
  int64_t dilation = 1;
  int64_t tile = kWinogradTile;

  int64_t tiles() const { return dilation * tiles_of_offset(); }
  /// The first output pixel of a tile; `size` or more where the tile is empty.
  int64_t first_pixel(int64_t number) const {
    if (dilation == 1) return tile * number;
    return number / tiles_of_offset() + number % tiles_of_offset() * tile * dilation;
  }
  /// Output pixels of the tile that begins at `first`.
  int64_t pixels_from(int64_t first) const { return first >= size ? 0 : std::min(tile, (size - first - 1) / dilation + 1); }
  /// Of `count` pixels of the input from `first` on, is any outside [0, input)?
  bool leaves(int64_t first, int64_t count, int64_t input) const { return first < 0 || first + (count - 1) * dilation >= input; }

 private:
  int64_t tiles_of_offset() const { return CeilDiv(size, tile * dilation); }
};

}  // namespace tessera::cpu
