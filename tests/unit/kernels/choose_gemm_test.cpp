// Which way a GEMM of bytes is computed where weights lie in tiles.

#include <gtest/gtest.h>

#include "kernels/gemm/choose.h"

namespace tessera::cpu {
namespace {

TEST(ChooseGemm, MultipliesFewBytesByDotProducts) {
  EXPECT_EQ(ChooseU8S8Path(1, 8, 16), U8S8Path::kDots);
  EXPECT_EQ(ChooseU8S8Path(8, 16, 32), U8S8Path::kDots);
  EXPECT_EQ(ChooseLimbPath(1, 64, 4), U8S8Path::kDots);
  EXPECT_EQ(ChooseLimbPath(2, 16, 8), U8S8Path::kDots);
}

TEST(ChooseGemm, MultipliesManyBytesByTiles) {
  EXPECT_EQ(ChooseU8S8Path(16, 64, 64), U8S8Path::kTiles);
  EXPECT_EQ(ChooseU8S8Path(64, 256, 256), U8S8Path::kTiles);
  EXPECT_EQ(ChooseLimbPath(16, 128, 32), U8S8Path::kTiles);
  EXPECT_EQ(ChooseLimbPath(64, 256, 16), U8S8Path::kTiles);
}

/// What makes floats of tiles' sums is a pass of its own, which dot products do without.
TEST(ChooseGemm, TakesTilesLaterForLimbs) {
  for (const int64_t groups : {16, 32, 64, 256}) {
    for (const int64_t panels : {1, 4, 32}) {
      for (int64_t rows = 1; rows <= 64; ++rows) {
        if (ChooseLimbPath(rows, groups, panels) == U8S8Path::kDots) continue;
        EXPECT_EQ(ChooseU8S8Path(2 * rows, groups, 32 * panels), U8S8Path::kTiles)
            << rows << " rows, " << groups << " groups, " << panels << " panels";
      }
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
