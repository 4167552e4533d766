#include "ops/nn/blocked_winograd.h"

#include <gtest/gtest.h>

#include <optional>

namespace tessera {
namespace {

using cpu::BlockedChannels;
using cpu::WinogradForm;

Window Square(int64_t output, int64_t stride, int64_t dilation = 1) {
  const int64_t input = (output - 1) * stride + 1;  // with pads of a dilation
  Window window;
  window.input = {1, input, input};
  window.output = {1, output, output};
  window.kernel = {1, 3, 3};
  window.strides = {1, stride, stride};
  window.dilations = {1, dilation, dilation};
  window.begin = window.end = {0, dilation, dilation};
  return window;
}

std::optional<WinogradForm> Choose(const Window& window, const BlockedChannels& of, bool forced = false) {
  return cpu::ChooseBlockedWinograd(window, of, forced);
}

TEST(BlockedWinogradTest, LargeImagesTakeTilesOfFour) {
  EXPECT_EQ(Choose(Square(28, 1), {1, 1, 128, 128}), WinogradForm::kFour);
  EXPECT_EQ(Choose(Square(28, 1, 2), {1, 1, 128, 128}), WinogradForm::kFour);
  EXPECT_EQ(Choose(Square(14, 1), {1, 8, 32, 32}), WinogradForm::kFour);
}

TEST(BlockedWinogradTest, SmallImagesTakeTilesOfTwo) {
  EXPECT_EQ(Choose(Square(7, 1), {1, 1, 512, 512}), WinogradForm::kTwo);
  EXPECT_EQ(Choose(Square(6, 1), {1, 1, 64, 72}), WinogradForm::kTwo);
  EXPECT_EQ(Choose(Square(3, 1), {1, 1, 64, 64}), std::nullopt);
}

TEST(BlockedWinogradTest, StridedImagesTakeTheirOwn) {
  EXPECT_EQ(Choose(Square(28, 2), {1, 1, 128, 128}), WinogradForm::kStrided);
  EXPECT_EQ(Choose(Square(24, 2), {2, 2, 64, 64}), WinogradForm::kStrided);
  EXPECT_EQ(Choose(Square(7, 2), {1, 1, 512, 512}), std::nullopt);
  EXPECT_EQ(Choose(Square(7, 2), {1, 1, 512, 512}, true), WinogradForm::kStrided);
}

TEST(BlockedWinogradTest, OthersTakeNone) {
  EXPECT_EQ(Choose(Square(28, 3), {1, 1, 128, 128}, true), std::nullopt);
  EXPECT_EQ(Choose(Square(28, 2, 2), {1, 1, 128, 128}, true), std::nullopt);
  EXPECT_EQ(Choose(Square(28, 1), {1, 16, 8, 8}, true), std::nullopt);
  Window wide = Square(28, 1);
  wide.kernel = {1, 3, 5};
  EXPECT_EQ(Choose(wide, {1, 1, 128, 128}, true), std::nullopt);
}

}  // namespace
}  // namespace tessera
