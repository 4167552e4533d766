// How ConvTranspose is computed in NCHW, and how many images' windows make one GEMM.

#include <gtest/gtest.h>

#include "kernels/conv/choose/batched.h"
#include "kernels/conv/choose/transposed.h"

namespace tessera::cpu {
namespace {

/// Over an output: its columns are the input's pixels.
Window Transposed(int64_t input, int64_t kernel, int64_t stride) {
  const auto both = [](int64_t size) { return Shape{size, size}; };
  return {both(input == 0 ? 0 : (input - 1) * stride + kernel),
          both(input),
          both(kernel),
          both(stride),
          both(1),
          both(0),
          both(0)};
}

TEST(ChooseTransposed, MultipliesAndAddsUp) {
  EXPECT_EQ(ChooseTransposed(Transposed(8, 4, 2), 64), ConvAlgorithm::kCol2im);
  EXPECT_EQ(ChooseTransposed(Transposed(8, 4, 2), 3), ConvAlgorithm::kCol2im);
}

TEST(ChooseTransposed, GathersFromFewChannels) {
  EXPECT_EQ(ChooseTransposed(Transposed(8, 4, 2), 2), ConvAlgorithm::kGather);
  EXPECT_EQ(ChooseTransposed(Transposed(0, 4, 2), 64), ConvAlgorithm::kGather);  // there is nothing to multiply
}

TEST(ChooseTransposed, MultipliesSinglePixels) {
  EXPECT_EQ(ChooseTransposed(Transposed(8, 1, 1), 64), ConvAlgorithm::kGemm);
  EXPECT_EQ(ChooseTransposed(Transposed(8, 1, 1), 1), ConvAlgorithm::kGemm);
  EXPECT_EQ(ChooseTransposed(Transposed(8, 1, 2), 64), ConvAlgorithm::kCol2im);  // pixels between them have no window
}

TEST(DivideTransposed, JoinsSmallImages) {
  const TransposedSizes small{
      .batch = 8, .groups = 1, .channels = 64, .outputs = 32, .taps = 16, .columns = 64, .element_bytes = 4};
  EXPECT_EQ(DivideTransposed(small, 1).images, 8);
  TransposedSizes large = small;
  large.columns = 1024;
  EXPECT_EQ(DivideTransposed(large, 1).images, 1);
}

TEST(DivideTransposed, SharesGemmsWhereBlocksAreFew) {
  const TransposedSizes one{
      .batch = 1, .groups = 1, .channels = 64, .outputs = 1, .taps = 16, .columns = 4096, .element_bytes = 4};
  EXPECT_TRUE(DivideTransposed(one, 4).afterwards);
  EXPECT_FALSE(DivideTransposed(one, 1).afterwards);
  TransposedSizes many = one;
  many.outputs = 256;
  EXPECT_FALSE(DivideTransposed(many, 4).afterwards);
}

BatchedSizes SmallImages(int64_t batch) {
  return {.batch = batch, .channels = 64, .outputs = 64, .taps = 9, .pixels = 4, .plane = 4};
}

TEST(GroupImages, SharesFewRows) {
  for (const ConvTypes types : {ConvTypes::kFloat, ConvTypes::kBytes}) {
    EXPECT_TRUE(GroupImages(types, SmallImages(8), 4).shared);
    EXPECT_EQ(GroupImages(types, SmallImages(8), 4).images, 8);
    EXPECT_FALSE(GroupImages(types, SmallImages(64), 4).shared);
  }
}

TEST(GroupImages, KeepsRowsNear) {
  EXPECT_EQ(GroupImages(ConvTypes::kFloat, SmallImages(1000), 1).images, 48);   // 192 rows
  EXPECT_EQ(GroupImages(ConvTypes::kBytes, SmallImages(1000), 1).images, 113);  // 256 KiB
  EXPECT_EQ(GroupImages(ConvTypes::kFloat, SmallImages(100), 4).images, 25);    // a thread's share
  EXPECT_EQ(GroupImages(ConvTypes::kBytes, SmallImages(100), 4).images, 25);
}

}  // namespace
}  // namespace tessera::cpu
