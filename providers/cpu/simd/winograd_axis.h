#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/rounding.h"

namespace tessera::cpu {

constexpr int64_t kWinogradTile = 4;  // output pixels along each axis of F(4x4, 3x3)

/// What a tile is along one axis. F(m, r) gives m pixels of r taps by m + r - 1 products. A tile's inputs become planes; the product of
/// a point sums over the channels of its one to three planes.
enum class WinogradLine : uint8_t {
  kOne,           // one tap: pixels as they are
  kFour,          // F(4, 3): six products for four pixels, where the taps alone take twelve
  kTwo,           // F(2, 3): four instead of six, for images whose tiles of four would be few, or mostly outside
  kThreeOfFour,   // F(3, 4): six instead of twelve
  kTwoOfFive,     // F(2, 5): six instead of ten
  kThreeOfSeven,  // F(3, 4) and F(3, 3) side by side at the same points: 11 instead of 21
  kThreeOfEleven, // F(3, 4) twice and F(3, 3): 17 instead of 33
  kStrided,       // three taps, stride 2: the outer two are F(2, 2) over every other input, the middle one reads those between, so
                  // that five products replace six
  kStridedFour,   // four taps, stride 2: F(2, 2) over every other input and over those between: six instead of eight
};

struct WinogradPlanes {
  int64_t taps, side, stride;   // inputs of an output pixel; output pixels; inputs from pixel to pixel
  int64_t points, planes;
  std::array<int8_t, 7> first;  // plane of each point, and past the last

  constexpr int64_t reach() const { return (side - 1) * stride + taps; }  // inputs of a tile
  constexpr int64_t of(int64_t point) const { return first[static_cast<size_t>(point) + 1] - first[static_cast<size_t>(point)]; }
};

constexpr WinogradPlanes PlanesOf(WinogradLine line) {
  switch (line) {
    case WinogradLine::kOne:
      return {1, 1, 1, 1, 1, {0, 1}};
    case WinogradLine::kFour:
      return {3, kWinogradTile, 1, 6, 6, {0, 1, 2, 3, 4, 5, 6}};
    case WinogradLine::kTwo:
      return {3, 2, 1, 4, 4, {0, 1, 2, 3, 4}};
    case WinogradLine::kThreeOfFour:
      return {4, 3, 1, 6, 6, {0, 1, 2, 3, 4, 5, 6}};
    case WinogradLine::kTwoOfFive:
      return {5, 2, 1, 6, 6, {0, 1, 2, 3, 4, 5, 6}};
    case WinogradLine::kThreeOfSeven:
      return {7, 3, 1, 6, 11, {0, 2, 4, 6, 8, 10, 11}};
    case WinogradLine::kThreeOfEleven:
      return {11, 3, 1, 6, 17, {0, 3, 6, 9, 12, 15, 17}};
    case WinogradLine::kStrided:
      return {3, 2, 2, 3, 5, {0, 2, 3, 5}};
    case WinogradLine::kStridedFour:
      return {4, 2, 2, 3, 6, {0, 2, 4, 6}};
  }
  return {};
}

/// A tile of two axes: point (y, x) is number y * points of x + x, and a point's planes are neighbours.
struct WinogradForm {
  WinogradLine y, x;

  constexpr bool operator==(const WinogradForm&) const = default;
  constexpr int64_t points() const { return PlanesOf(y).points * PlanesOf(x).points; }
  constexpr int64_t planes() const { return PlanesOf(y).planes * PlanesOf(x).planes; }
  constexpr int64_t FirstPlane(int64_t point) const {
    const WinogradPlanes of_y = PlanesOf(y), of_x = PlanesOf(x);
    const int64_t i = point / of_x.points, j = point % of_x.points;
    return of_y.first[static_cast<size_t>(i)] * of_x.planes + of_y.of(i) * of_x.first[static_cast<size_t>(j)];
  }
  constexpr int64_t PlanesOfPoint(int64_t point) const {
    const WinogradPlanes of_y = PlanesOf(y), of_x = PlanesOf(x);
    return of_y.of(point / of_x.points) * of_x.of(point % of_x.points);
  }
  /// Planes of the two lines.
  struct LinePlanes {
    int64_t y, x;
  };
  /// What the k-th of a point's planes is made of.
  constexpr LinePlanes LinePlanesOf(int64_t point, int64_t k) const {
    const WinogradPlanes of_y = PlanesOf(y), of_x = PlanesOf(x);
    const int64_t i = point / of_x.points, j = point % of_x.points;
    return {of_y.first[static_cast<size_t>(i)] + k / of_x.of(j), of_x.first[static_cast<size_t>(j)] + k % of_x.of(j)};
  }
  /// No point has more; those of point 0.
  constexpr int64_t most_planes() const { return PlanesOfPoint(0); }
};

/// Those that kernels are compiled for.
constexpr WinogradForm kWinogradForms[] = {
    {WinogradLine::kFour, WinogradLine::kFour},
    {WinogradLine::kTwo, WinogradLine::kTwo},
    {WinogradLine::kStrided, WinogradLine::kStrided},
    {WinogradLine::kThreeOfFour, WinogradLine::kThreeOfFour},
    {WinogradLine::kStridedFour, WinogradLine::kStridedFour},
    {WinogradLine::kTwoOfFive, WinogradLine::kTwoOfFive},
    {WinogradLine::kThreeOfSeven, WinogradLine::kThreeOfSeven},
    {WinogradLine::kOne, WinogradLine::kFour},
    {WinogradLine::kFour, WinogradLine::kOne},
    {WinogradLine::kOne, WinogradLine::kTwoOfFive},
    {WinogradLine::kTwoOfFive, WinogradLine::kOne},
    {WinogradLine::kOne, WinogradLine::kThreeOfSeven},
    {WinogradLine::kThreeOfSeven, WinogradLine::kOne},
    {WinogradLine::kThreeOfEleven, WinogradLine::kOne},
};

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
