// The forms of Winograd's transform that convolutions in NCHW8c are computed by.

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <vector>

#include "kernels/conv/choose/choose.h"
#include "kernels/conv/nchw8c/regions.h"
#include "kernels/conv/winograd/winograd.h"

namespace tessera {
namespace {

using cpu::WinogradForm;
using Axis = cpu::WinogradAxisForm;

constexpr WinogradForm kFour{Axis::kFour, Axis::kFour}, kTwo{Axis::kTwo, Axis::kTwo},
    kStrided{Axis::kStrided, Axis::kStrided};

/// `y` by `x` taps over output pixels, with pads that reach as far as half a window of three would.
Window Taps(int64_t y, int64_t x, int64_t output, int64_t stride = 1, int64_t dilation = 1) {
  Window window;
  window.output = {1, output, output};
  window.kernel = {1, y, x};
  window.strides = {1, stride, stride};
  window.dilations = {1, dilation, dilation};
  window.begin = window.end = {0, y > 1 ? dilation : 0, x > 1 ? dilation : 0};
  window.input = {1, 1, 1};
  for (size_t i = 1; i < 3; ++i)
    window.input[i] = (output - 1) * stride + (window.kernel[i] - 1) * dilation + 1 - 2 * window.begin[i];
  return window;
}
Window Square(int64_t output, int64_t stride, int64_t dilation = 1) { return Taps(3, 3, output, stride, dilation); }

/// `channels` and `outputs` of each group.
struct Channels {
  int64_t batch, groups, channels, outputs;
};

cpu::ConvProblem Problem(const Window& window, const Channels& of) {
  return {.layout = cpu::ConvLayout::kNchw8c,
          .batch = of.batch,
          .channels = of.groups * of.channels,
          .outputs = of.groups * of.outputs,
          .groups = of.groups,
          .window = window};
}

/// None where a direct convolution is faster, or all others where the transform is asked for.
std::optional<WinogradForm> Choose(const Window& window, const Channels& of, bool forced = false) {
  const auto preference = cpu::ConvPreference::Parse(forced ? "winograd" : "");
  const cpu::ConvCandidate best = RankConvAlgorithms(Problem(window, of)).Preferring(preference).front();
  return best.algorithm == cpu::ConvAlgorithm::kWinograd ? std::optional(best.form) : std::nullopt;
}

TEST(Nchw8cWinogradTest, LargeImagesTakeTilesOfFour) {
  EXPECT_EQ(Choose(Square(28, 1), {1, 1, 128, 128}), kFour);
  EXPECT_EQ(Choose(Square(28, 1, 2), {1, 1, 128, 128}), kFour);
  EXPECT_EQ(Choose(Square(14, 1), {1, 8, 32, 32}), kFour);
}

TEST(Nchw8cWinogradTest, SmallImagesTakeTilesOfTwo) {
  EXPECT_EQ(Choose(Square(7, 1), {1, 1, 512, 512}), kTwo);
  EXPECT_EQ(Choose(Square(6, 1), {1, 1, 64, 72}), kTwo);
  EXPECT_EQ(Choose(Square(3, 1), {1, 1, 64, 64}), std::nullopt);
}

/// Regions leave out what only reads padding.
TEST(Nchw8cWinogradTest, LargeDilationsAreConvolvedByRegions) {
  const Window atrous = Square(20, 1, 12), near = Square(20, 1, 2);
  const cpu::Nchw8cRegions regions(atrous);
  EXPECT_TRUE(regions.Pay());
  EXPECT_DOUBLE_EQ(regions.Share(1), 0.36);
  EXPECT_FALSE(cpu::Nchw8cRegions(near).Pay());
  const cpu::ConvCandidates ranked = RankConvAlgorithms(Problem(atrous, {1, 1, 960, 256}));
  EXPECT_EQ(ranked.front().algorithm, cpu::ConvAlgorithm::kDirectByRegions);
  EXPECT_NE(ranked.Find(cpu::ConvAlgorithm::kWinograd), nullptr);
}

TEST(Nchw8cWinogradTest, StridedImagesTakeTheirOwn) {
  EXPECT_EQ(Choose(Square(28, 2), {1, 1, 128, 128}), kStrided);
  EXPECT_EQ(Choose(Square(24, 2), {2, 2, 64, 64}), kStrided);
  EXPECT_EQ(Choose(Square(7, 2), {1, 1, 512, 512}), std::nullopt);
  EXPECT_EQ(Choose(Square(7, 2), {1, 1, 512, 512}, true), kStrided);
}

TEST(Nchw8cWinogradTest, OtherWindowsTakeTheirOwn) {
  EXPECT_EQ(Choose(Taps(5, 5, 27), {1, 1, 64, 192}), (WinogradForm{Axis::kTwoOfFive, Axis::kTwoOfFive}));
  EXPECT_EQ(Choose(Taps(4, 4, 30), {1, 1, 256, 256}), (WinogradForm{Axis::kThreeOfFour, Axis::kThreeOfFour}));
  EXPECT_EQ(Choose(Taps(4, 4, 32, 2), {1, 1, 64, 128}), (WinogradForm{Axis::kStridedFour, Axis::kStridedFour}));
  EXPECT_EQ(Choose(Taps(7, 7, 46), {1, 1, 128, 128}), (WinogradForm{Axis::kThreeOfSeven, Axis::kThreeOfSeven}));
}

TEST(Nchw8cWinogradTest, LinesAreTransformedAlongThem) {
  EXPECT_EQ(Choose(Taps(1, 7, 17), {1, 1, 192, 192}), (WinogradForm{Axis::kOne, Axis::kThreeOfSeven}));
  EXPECT_EQ(Choose(Taps(7, 1, 17), {1, 1, 192, 192}), (WinogradForm{Axis::kThreeOfSeven, Axis::kOne}));
  EXPECT_EQ(Choose(Taps(1, 3, 28), {1, 1, 128, 128}), (WinogradForm{Axis::kOne, Axis::kFour}));
  EXPECT_EQ(Choose(Taps(3, 1, 28, 1, 4), {1, 1, 128, 128}), (WinogradForm{Axis::kFour, Axis::kOne}));
  EXPECT_EQ(Choose(Taps(5, 1, 28), {1, 1, 128, 128}), (WinogradForm{Axis::kTwoOfFive, Axis::kOne}));
}

/// A transposed convolution of `taps` by `taps` with as many channels as outputs, from an image of `input`.
std::optional<WinogradForm> ChooseTransposed(int64_t taps, int64_t stride, int64_t pad, int64_t input, int64_t channels) {
  Window window;
  window.input = {1, input, input};
  window.output = {1, input * stride, input * stride};
  window.kernel = {1, taps, taps};
  window.strides = {1, stride, stride};
  window.dilations = {1, 1, 1};
  window.begin = window.end = {0, pad, pad};
  cpu::ConvProblem problem = Problem(window, {1, 1, channels, channels});
  problem.transposed = true;
  const cpu::ConvCandidates ranked = RankConvAlgorithms(problem);
  return ranked.empty() ? std::nullopt : std::optional(ranked.front().form);
}

TEST(Nchw8cWinogradTest, TransposedWindowsTakeTheirOwn) {
  EXPECT_EQ(ChooseTransposed(4, 2, 1, 32, 128), (WinogradForm{Axis::kTransposedFour, Axis::kTransposedFour}));
  EXPECT_EQ(ChooseTransposed(3, 2, 1, 32, 128), (WinogradForm{Axis::kTransposedThree, Axis::kTransposedThree}));
  EXPECT_EQ(ChooseTransposed(3, 2, 0, 32, 128), (WinogradForm{Axis::kTransposedThreeEven, Axis::kTransposedThreeEven}));
  EXPECT_EQ(ChooseTransposed(5, 2, 1, 32, 128), (WinogradForm{Axis::kTransposedFive, Axis::kTransposedFive}));
  EXPECT_EQ(ChooseTransposed(5, 2, 2, 32, 128), (WinogradForm{Axis::kTransposedFiveEven, Axis::kTransposedFiveEven}));
  EXPECT_EQ(ChooseTransposed(2, 2, 0, 32, 128), (WinogradForm{Axis::kSpreadTwo, Axis::kSpreadTwo}));
  EXPECT_EQ(ChooseTransposed(4, 4, 0, 32, 128), (WinogradForm{Axis::kSpreadFour, Axis::kSpreadFour}));
}

TEST(Nchw8cWinogradTest, SmallTransposedImagesTakeTheSums) {
  EXPECT_EQ(ChooseTransposed(4, 2, 1, 2, 512), (WinogradForm{Axis::kAlternatingFour, Axis::kAlternatingFour}));
  EXPECT_EQ(ChooseTransposed(3, 2, 1, 2, 512), (WinogradForm{Axis::kAlternatingThree, Axis::kAlternatingThree}));
}

TEST(Nchw8cWinogradTest, TransposedWindowsThatTakeNone) {
  EXPECT_EQ(ChooseTransposed(4, 2, 0, 32, 128), std::nullopt);
  EXPECT_EQ(ChooseTransposed(4, 1, 1, 32, 128), std::nullopt);
  EXPECT_EQ(ChooseTransposed(3, 3, 0, 32, 128), std::nullopt);
  EXPECT_EQ(ChooseTransposed(2, 2, 1, 32, 128), std::nullopt);
}

TEST(Nchw8cWinogradTest, InfiniteWeightsStayInTheirOwnFactors) {
  const std::vector<float> filter = {std::numeric_limits<float>::infinity(), 1, 2, 3};
  std::vector<float> num_weights(4);
  cpu::TransformWinogradFilters({Axis::kSpreadTwo, Axis::kSpreadTwo}, filter.data(), 1, 1, num_weights.data());
  EXPECT_EQ(num_weights, filter);
}

/// A transformed line has twice as many weights at most, not four times.
TEST(Nchw8cWinogradTest, ManyChannelsAreTransformedAlongLines) {
  EXPECT_EQ(Choose(Square(7, 1), {1, 1, 768, 768}), std::nullopt);
  EXPECT_EQ(Choose(Taps(1, 3, 28), {1, 1, 768, 768}), (WinogradForm{Axis::kOne, Axis::kFour}));
  EXPECT_EQ(Choose(Taps(7, 1, 28), {1, 1, 1024, 1024}), (WinogradForm{Axis::kThreeOfSeven, Axis::kOne}));
}

/// Its rows of tiles are shared out: it lies along the first axis.
TEST(Nchw8cWinogradTest, ALineIsTransformedAsAColumn) {
  const auto choose = [](int64_t taps) {
    Window line = Taps(1, taps, 2048);
    line.input[1] = line.output[1] = 1;
    return Choose(line, {1, 1, 64, 64});
  };
  EXPECT_EQ(choose(3), (WinogradForm{Axis::kFour, Axis::kOne}));
  EXPECT_EQ(choose(7), (WinogradForm{Axis::kThreeOfSeven, Axis::kOne}));
  EXPECT_EQ(choose(11), (WinogradForm{Axis::kThreeOfEleven, Axis::kOne}));
}

TEST(Nchw8cWinogradTest, OthersTakeNone) {
  EXPECT_EQ(Choose(Square(28, 3), {1, 1, 128, 128}, true), std::nullopt);
  EXPECT_EQ(Choose(Square(28, 2, 2), {1, 1, 128, 128}, true), std::nullopt);
  EXPECT_EQ(Choose(Square(28, 1), {1, 32, 4, 4}, true), std::nullopt);
  EXPECT_EQ(Choose(Taps(3, 5, 28), {1, 1, 128, 128}, true), std::nullopt);
  EXPECT_EQ(Choose(Taps(1, 1, 28), {1, 1, 128, 128}, true), std::nullopt);
  EXPECT_EQ(Choose(Taps(1, 3, 28, 2), {1, 1, 128, 128}, true), std::nullopt);
}

}  // namespace
}  // namespace tessera
