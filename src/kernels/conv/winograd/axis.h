#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "base/rounding.h"

namespace tessera::cpu {

constexpr int64_t kWinogradTile = 4;  // output pixels along each axis of F(4x4, 3x3)

/// What a tile is along one axis. F(m, r) gives m pixels of r taps by m + r - 1 multiplications. A tile's inputs become
/// planes; the GEMM of a point accumulates over the channels of its one to three planes.
enum class WinogradAxisForm : uint8_t {
  kOne,            // one tap: pixels as they are
  kFour,           // F(4, 3): six multiplications for four pixels, where the taps alone need twelve
  kTwo,            // F(2, 3): four instead of six, for images whose tiles of four would be few, or mostly outside
  kThreeOfFour,    // F(3, 4): six instead of twelve
  kTwoOfFive,      // F(2, 5): six instead of ten
  kThreeOfSeven,   // F(3, 4) and F(3, 3) on adjacent taps at the same points: 11 instead of 21
  kThreeOfEleven,  // F(3, 4) twice and F(3, 3): 17 instead of 33
  kStrided,  // three taps, stride 2: the outer two are F(2, 2) over every other input, the middle one reads those between,
             // so that five multiplications replace six
  kStridedFour,  // four taps, stride 2: F(2, 2) over every other input and over those between: six instead of eight
  // Of transposed convolutions of stride 2, whose pixels alternate between the even and the odd taps: F(2, 2) or F(2, 3)
  // of each. Which come first depends on whether the padding is odd.
  kTransposedFour,       // pads 1: six multiplications for four pixels instead of eight
  kTransposedThree,      // pads 1: five instead of six
  kTransposedThreeEven,  // pads 0
  kTransposedFive,       // pads 1: seven instead of ten
  kTransposedFiveEven,   // pads 2
  // Direct accumulation, for images of few pixels: weights as many as the taps.
  kAlternatingFour,
  kAlternatingThree,
  kAlternatingThreeEven,
  // As many taps as the stride: each pixel has one input.
  kSpreadTwo,
  kSpreadFour,
};

constexpr std::array<int8_t, 7> kOnePlaneEach = {1, 1, 1, 1, 1, 1, 1};

struct WinogradPlanes {
  int64_t taps, side, stride;  // inputs of an output pixel; output pixels; inputs from pixel to pixel or, transposed,
                               // pixels from input to input
  int64_t points, planes;
  std::array<int8_t, 7> first;                  // plane of each point
  std::array<int8_t, 7> count = kOnePlaneEach;  // and how many it accumulates over
  struct {
    int64_t
        reach = 0,
        pad = 0;  // inputs of a tile, none where it is not transposed; the padding that it is for, or strides more or less
  } transpose = {};

  constexpr bool transposed() const { return transpose.reach > 0; }
  constexpr int64_t reach() const { return transposed() ? transpose.reach : (side - 1) * stride + taps; }
  constexpr int64_t of(int64_t point) const { return count[static_cast<size_t>(point)]; }
  constexpr int64_t most() const { return *std::max_element(count.begin(), count.end()); }
  /// Each plane of a point has weights of its own: the number of the point's first, and of all of them past the last
  /// point.
  constexpr int64_t FirstWeights(int64_t point) const {
    int64_t sum = 0;
    for (int64_t i = 0; i < point; ++i) sum += of(i);
    return sum;
  }
  constexpr int64_t num_weights() const { return FirstWeights(points); }
  /// The first input of the tile that begins at this output pixel, in an image without pads.
  constexpr int64_t InputOf(int64_t pixel) const { return transposed() ? pixel / stride : pixel * stride; }
};

constexpr WinogradPlanes PlanesOf(WinogradAxisForm form) {
  switch (form) {
    case WinogradAxisForm::kOne: return {1, 1, 1, 1, 1, {0}};
    case WinogradAxisForm::kFour: return {3, kWinogradTile, 1, 6, 6, {0, 1, 2, 3, 4, 5}};
    case WinogradAxisForm::kTwo: return {3, 2, 1, 4, 4, {0, 1, 2, 3}};
    case WinogradAxisForm::kThreeOfFour: return {4, 3, 1, 6, 6, {0, 1, 2, 3, 4, 5}};
    case WinogradAxisForm::kTwoOfFive: return {5, 2, 1, 6, 6, {0, 1, 2, 3, 4, 5}};
    case WinogradAxisForm::kThreeOfSeven: return {7, 3, 1, 6, 11, {0, 2, 4, 6, 8, 10}, {2, 2, 2, 2, 2, 1}};
    case WinogradAxisForm::kThreeOfEleven: return {11, 3, 1, 6, 17, {0, 3, 6, 9, 12, 15}, {3, 3, 3, 3, 3, 2}};
    case WinogradAxisForm::kStrided: return {3, 2, 2, 3, 5, {0, 2, 3}, {2, 1, 2}};
    case WinogradAxisForm::kStridedFour: return {4, 2, 2, 3, 6, {0, 2, 4}, {2, 2, 2}};
    case WinogradAxisForm::kTransposedFour: return {4, 4, 2, 6, 5, {0, 1, 2, 2, 3, 4}, kOnePlaneEach, {4, 1}};
    case WinogradAxisForm::kTransposedThree: return {3, 4, 2, 5, 4, {0, 1, 2, 2, 3}, kOnePlaneEach, {3, 1}};
    case WinogradAxisForm::kTransposedThreeEven: return {3, 4, 2, 5, 4, {0, 1, 1, 2, 3}, kOnePlaneEach, {3, 0}};
    case WinogradAxisForm::kTransposedFive:
    case WinogradAxisForm::kTransposedFiveEven:
      return {5, 4, 2, 7, 6, {0, 1, 2, 2, 3, 4, 5}, kOnePlaneEach, {4, form == WinogradAxisForm::kTransposedFive ? 1 : 0}};
    case WinogradAxisForm::kAlternatingFour: return {4, 2, 2, 2, 3, {0, 1}, {2, 2}, {3, 1}};
    case WinogradAxisForm::kAlternatingThree: return {3, 2, 2, 2, 2, {0, 0}, {1, 2}, {2, 1}};
    case WinogradAxisForm::kAlternatingThreeEven: return {3, 2, 2, 2, 2, {0, 1}, {2, 1}, {2, 0}};
    case WinogradAxisForm::kSpreadTwo: return {2, 2, 2, 2, 1, {0, 0}, kOnePlaneEach, {1, 0}};
    case WinogradAxisForm::kSpreadFour: return {4, 4, 4, 4, 1, {0, 0, 0, 0}, kOnePlaneEach, {1, 0}};
  }
  return {};
}

/// A tile of two axes: point (y, x) is number y * points of x + x, plane (y, x) number y * planes of x + x. Transformed
/// weights are numbered point by point.
struct WinogradForm {
  WinogradAxisForm y, x;

  constexpr bool operator==(const WinogradForm&) const = default;
  constexpr bool transposed() const { return PlanesOf(y).transposed(); }
  constexpr int64_t points() const { return PlanesOf(y).points * PlanesOf(x).points; }
  constexpr int64_t planes() const { return PlanesOf(y).planes * PlanesOf(x).planes; }
  constexpr int64_t num_weights() const { return PlanesOf(y).num_weights() * PlanesOf(x).num_weights(); }
  /// Of both axes.
  struct Pair {
    int64_t y, x;
  };
  constexpr Pair AxisPoints(int64_t point) const { return {point / PlanesOf(x).points, point % PlanesOf(x).points}; }
  /// How many planes a point accumulates over along each axis.
  constexpr Pair PlanesOfPoint(int64_t point) const {
    const auto [i, j] = AxisPoints(point);
    return {PlanesOf(y).of(i), PlanesOf(x).of(j)};
  }
  constexpr int64_t FirstPlane(int64_t point) const {
    const auto [i, j] = AxisPoints(point);
    return PlanesOf(y).first[static_cast<size_t>(i)] * PlanesOf(x).planes + PlanesOf(x).first[static_cast<size_t>(j)];
  }
  constexpr int64_t FirstWeights(int64_t point) const {
    const auto [i, j] = AxisPoints(point);
    return PlanesOf(y).FirstWeights(i) * PlanesOf(x).num_weights() + PlanesOf(y).of(i) * PlanesOf(x).FirstWeights(j);
  }
  /// The two 1-D transformed weights that the k-th one of a point is the product of.
  constexpr Pair AxisWeights(int64_t point, int64_t k) const {
    const auto [i, j] = AxisPoints(point);
    const int64_t across = PlanesOf(x).of(j);
    return {PlanesOf(y).FirstWeights(i) + k / across, PlanesOf(x).FirstWeights(j) + k % across};
  }
};

/// Those that kernels are compiled for.
constexpr WinogradForm kWinogradForms[] = {
    {WinogradAxisForm::kFour, WinogradAxisForm::kFour},
    {WinogradAxisForm::kTwo, WinogradAxisForm::kTwo},
    {WinogradAxisForm::kStrided, WinogradAxisForm::kStrided},
    {WinogradAxisForm::kThreeOfFour, WinogradAxisForm::kThreeOfFour},
    {WinogradAxisForm::kStridedFour, WinogradAxisForm::kStridedFour},
    {WinogradAxisForm::kTwoOfFive, WinogradAxisForm::kTwoOfFive},
    {WinogradAxisForm::kThreeOfSeven, WinogradAxisForm::kThreeOfSeven},
    {WinogradAxisForm::kOne, WinogradAxisForm::kFour},
    {WinogradAxisForm::kFour, WinogradAxisForm::kOne},
    {WinogradAxisForm::kOne, WinogradAxisForm::kTwoOfFive},
    {WinogradAxisForm::kTwoOfFive, WinogradAxisForm::kOne},
    {WinogradAxisForm::kOne, WinogradAxisForm::kThreeOfSeven},
    {WinogradAxisForm::kThreeOfSeven, WinogradAxisForm::kOne},
    {WinogradAxisForm::kThreeOfEleven, WinogradAxisForm::kOne},
    {WinogradAxisForm::kTransposedFour, WinogradAxisForm::kTransposedFour},
    {WinogradAxisForm::kTransposedThree, WinogradAxisForm::kTransposedThree},
    {WinogradAxisForm::kTransposedThreeEven, WinogradAxisForm::kTransposedThreeEven},
    {WinogradAxisForm::kTransposedFive, WinogradAxisForm::kTransposedFive},
    {WinogradAxisForm::kTransposedFiveEven, WinogradAxisForm::kTransposedFiveEven},
    {WinogradAxisForm::kAlternatingFour, WinogradAxisForm::kAlternatingFour},
    {WinogradAxisForm::kAlternatingThree, WinogradAxisForm::kAlternatingThree},
    {WinogradAxisForm::kAlternatingThreeEven, WinogradAxisForm::kAlternatingThreeEven},
    {WinogradAxisForm::kSpreadTwo, WinogradAxisForm::kSpreadTwo},
    {WinogradAxisForm::kSpreadFour, WinogradAxisForm::kSpreadFour},
};

/// Whether a form fits windows of so many taps at this stride; transposed convolutions have forms of their own.
constexpr bool HasWinogradForm(int64_t taps_y, int64_t taps_x, int64_t stride) {
  const auto fits = [stride](WinogradAxisForm form, int64_t taps) {
    const WinogradPlanes of = PlanesOf(form);
    return !of.transposed() && of.taps == taps && of.stride == stride;
  };
  return std::any_of(std::begin(kWinogradForms), std::end(kWinogradForms),
                     [&](WinogradForm form) { return fits(form.y, taps_y) && fits(form.x, taps_x); });
}

/// The tiles along an axis. Where the taps are a dilation apart, so are a tile's pixels: each offset below the dilation is
/// an image of its own, whose tiles follow those of the offset before.
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
  bool leaves(int64_t first, int64_t count, int64_t input) const {
    return first < 0 || first + (count - 1) * dilation >= input;
  }

 private:
  int64_t tiles_of_offset() const { return CeilDiv(size, tile * dilation); }
};

}  // namespace tessera::cpu
