// Which way GEMMs of bytes are computed where weights lie in tiles, and how GEMMs of other than floats are divided.

#include <gtest/gtest.h>

#include "kernels/gemm/choose.h"
#include "kernels/gemm/nbits/quantized.h"

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

/// Every row and column is some task's, and no task is empty.
void ExpectCovered(const GemmGrid& grid, int64_t m, int64_t n) {
  EXPECT_GE(grid.rows * grid.row_tasks, m);
  EXPECT_LT(grid.rows * (grid.row_tasks - 1), m);
  EXPECT_GE(grid.columns * grid.column_tasks, n);
  EXPECT_LT(grid.columns * (grid.column_tasks - 1), n);
}

TEST(ChooseGemm, DividesBFloat16) {
  GemmProblem<float> problem;
  for (const int64_t m : {1, 4, 37, 512}) {
    for (const int64_t n : {1, 33, 1000}) {
      problem.m = m;
      problem.n = n;
      problem.k = 2048;
      EXPECT_EQ(ChooseGemmBf16(problem, 12, 32, 1).grid.tasks(), 1);
      ExpectCovered(ChooseGemmBf16(problem, 12, 32, 4).grid, m, n);
    }
  }
  EXPECT_GE(ChooseGemmBf16(problem, 12, 32, 4).grid.tasks(), 4);
  problem.k = 2;
  problem.m = 8;
  EXPECT_EQ(ChooseGemmBf16(problem, 12, 32, 4).grid.tasks(), 1);  // not worth a second thread
}

TEST(ChooseGemm, DividesRowsOfBytesInWholeTiles) {
  PackedWeightsS8 weights;
  weights.n = 256;
  weights.k = 512;
  weights.width = 32;
  weights.depth = 1;
  for (const int threads : {1, 4}) {
    const PanelTasks tasks = ChooseU8S8Tasks(weights, 5000, 512, false, threads);
    EXPECT_EQ(tasks.rows % 12, 0);
    EXPECT_GE(tasks.rows * tasks.row_tasks, 5000);
    EXPECT_LE(tasks.rows * 512, (192 << 10) + 12 * 512);  // they stay in the cache
    EXPECT_EQ(tasks.panel_tasks, threads == 1 ? 1 : 8);
  }
  EXPECT_EQ(ChooseU8S8Tasks(weights, 5000, 512, true, 1).rows % 16, 0);  // of transposed rows
}

TEST(ChooseGemm, DividesRowsByFewBitsWherePanelsAreFew) {
  NBitsWeights weights;
  weights.k = 512;
  weights.block_size = 32;
  weights.blocks = 16;
  weights.n = 100 * QuantizedNBitsWidth();
  EXPECT_EQ(ChooseNBitsTasks(weights, 500, 1, 4).row_tasks, 1);
  EXPECT_EQ(ChooseNBitsTasks(weights, 500, 1, 4).panel_tasks, 100);
  weights.n = QuantizedNBitsWidth();
  EXPECT_EQ(ChooseNBitsTasks(weights, 500, 1, 4).row_tasks, 4);
  EXPECT_EQ(ChooseNBitsTasks(weights, 24, 1, 4).row_tasks, 1);
}

}  // namespace
}  // namespace tessera::cpu
