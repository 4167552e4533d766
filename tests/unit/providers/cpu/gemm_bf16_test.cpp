// GEMMs of operands of bfloat16 with accumulators in float32: sizes around the edges of tiles and blocks. Small whole
// numbers need no rounding, so that results are exact.

#include "kernels/gemm/gemm_bf16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "on_each_target.h"
#include "runtime/threads/thread_pools.h"

namespace tessera::cpu {
namespace {

struct PairedGemm {
  int64_t m, n, k;
  bool accumulate = false, bias = false;
};

/// Kernels that this machine has, and those that emulate.
std::vector<GemmKernel<float>> PairKernels() {
  std::vector<GemmKernel<float>> kernels;
  for (const GemmKernel<float>& kernel : GemmKernelsBf16()) {
    if (kernel.available) kernels.push_back(kernel);
  }
  return kernels;
}

std::vector<float> WholeNumbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = static_cast<float>(static_cast<int>(random() % 17) - 8);
  return numbers;
}

void CheckPairs(const PairedGemm& p, const GemmKernel<float>& kernel, SessionThreadPool& pool) {
  const RunScope scope(pool);
  const std::vector<float> a = WholeNumbers(p.m * p.k, 1), b = WholeNumbers(p.n * p.k, 2), bias = WholeNumbers(p.n, 3);
  const int64_t c_row = p.n + 3;
  std::vector<float> c = WholeNumbers(p.m * c_row, 4);
  const std::vector<float> before = c;
  std::vector<BFloat16> pairs(static_cast<size_t>(p.m * PairedSize(p.k))), packed(PackedGemmBf16Size(p.k, p.n));
  RoundToPairs(a.data(), p.m, p.k, pairs.data());
  PackGemmBf16(pool, p.k, p.n, b.data(), packed.data());
  GemmBf16(kernel, pool,
           {.m = p.m,
            .n = p.n,
            .k = p.k,
            .lhs = {.pairs = pairs.data()},
            .rhs = {.packed = packed.data(), .type = PanelType::kPairs},
            .out = {.data = c.data(), .row = c_row},
            .accumulate = p.accumulate,
            .epilogue = {.bias = p.bias ? bias.data() : nullptr}});
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < c_row; ++j) {
      const auto at = static_cast<size_t>(i * c_row + j);
      float expected = before[at];
      if (j < p.n) {
        expected = (p.accumulate ? expected : 0) + (p.bias ? bias[static_cast<size_t>(j)] : 0);
        for (int64_t q = 0; q < p.k; ++q)
          expected += a[static_cast<size_t>(i * p.k + q)] * b[static_cast<size_t>(j * p.k + q)];
      }
      ASSERT_EQ(c[at], expected) << p.m << " by " << p.n << " by " << p.k << ", row " << i << ", column " << j;
    }
  }
}

TEST(GemmBf16, EdgesOfTilesAndPanels) {
  const auto pool = MakeSerialPool();
  for (const GemmKernel<float>& kernel : PairKernels()) {
    for (int64_t m = 1; m <= 26; ++m) CheckPairs({m, 37, 11, m % 2 == 0, m % 3 == 0}, kernel, *pool);
    for (int64_t n = 1; n <= 66; ++n) CheckPairs({3, n, 6, n % 2 == 0, n % 3 == 0}, kernel, *pool);
    for (int64_t k = 0; k <= 20; ++k) CheckPairs({k % 5 + 1, 64, k, k % 2 == 0, k % 3 == 0}, kernel, *pool);
  }
}

TEST(GemmBf16, ManyBlocksOnSomeThreads) {
  const auto pool = MakeWorkerPool(3, false);
  for (const GemmKernel<float>& kernel : PairKernels()) {
    CheckPairs({130, 200, 1001, false, true}, kernel, *pool);
    CheckPairs({700, 100, 390, true, true}, kernel, *pool);
    CheckPairs({4, 1024, 256, true}, kernel, *pool);
    CheckPairs({40, 33, 777}, kernel, *pool);
    CheckPairs({30, 70, 3301, false, true}, kernel, *pool);
    CheckPairs({300, 8, 50}, kernel, *pool);
  }
}

TEST(GemmBf16, RoundsToNearestEven) {
  const std::vector<float> row = {1.00390625f, 1.01171875f, -1.0f / 3};  // between two neighbours, twice; and near one
  BFloat16 pairs[4];
  RoundToPairs(row.data(), 1, 3, pairs);
  EXPECT_EQ(static_cast<float>(pairs[0]), 1.0f);
  EXPECT_EQ(static_cast<float>(pairs[1]), 1.015625f);
  EXPECT_EQ(static_cast<float>(pairs[2]), -0.333984375f);
  EXPECT_EQ(pairs[3].bits, 0);
}

TEST(GemmBf16, PacksRowsOnEveryInstructionSet) {
  constexpr int64_t kRow = 40, kK = 5;
  std::vector<float> b = WholeNumbers(kRow * kK, 7);
  for (size_t i = 0; i < b.size(); ++i) b[i] = b[i] / 3 + static_cast<float>(i);
  b[3] = std::numeric_limits<float>::quiet_NaN();
  b[45] = -std::numeric_limits<float>::infinity();
  b[81] = std::numeric_limits<float>::max();
  const int64_t width = std::min<int64_t>(GemmPanelWidth<float>(), kRow) - 1;
  testing::OnEachTarget([&] {
    std::vector<BFloat16> packed(static_cast<size_t>(PairedSize(kK) * GemmPanelWidth<float>()), BFloat16(1.0f));
    PackGemmBf16Panel(b.data(), kRow, false, kK, width, packed.data());
    for (int64_t p = 0; p < PairedSize(kK); ++p) {
      for (int64_t j = 0; j < GemmPanelWidth<float>(); ++j) {
        const float number = p < kK && j < width ? b[static_cast<size_t>(p * kRow + j)] : 0;
        const auto at = static_cast<size_t>((p / 2 * GemmPanelWidth<float>() + j) * 2 + p % 2);
        EXPECT_EQ(packed[at].bits, BFloat16(number).bits) << p << " " << j;
      }
    }
  });
}

}  // namespace
}  // namespace tessera::cpu
