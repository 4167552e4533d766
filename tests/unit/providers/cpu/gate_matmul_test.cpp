// Matmuls of integers in two limbs are those of integers of 16 bits, by tiles and by dot products.

#include "cpu/ops/microsoft/gate_matmul.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "kernels/gemm/gemm_int8.h"
#include "runtime/threads/thread_pools.h"

namespace tessera::cpu {
namespace {

struct GateCase {
  int64_t rows, k, n;
};

class GateMatMul : public ::testing::TestWithParam<GateCase> {};

std::vector<float> Multiply(ThreadPool& threads, const GateMatrix& matrix, int64_t rows, const std::vector<float>& a) {
  std::vector<std::byte> workspace(static_cast<size_t>(rows) * GateWorkspaceOfRow(matrix.k, matrix.n));
  std::vector<float> out(static_cast<size_t>(rows * (matrix.n + 3)), 0.5f);  // rows are apart, and added to
  AddGateMatMul(threads, matrix, rows, a.data(), out.data(), matrix.n + 3, workspace.data());
  return out;
}

TEST_P(GateMatMul, OfLimbsIsThatOfPairs) {
  if (!MultipliesLimbs()) GTEST_SKIP() << "no dot products of bytes";
  const auto& [rows, k, n] = GetParam();
  const auto pool = MakeSerialPool();
  const RunScope scope(*pool);
  std::mt19937 random(static_cast<uint32_t>(rows + k * 7 + n * 31));
  std::vector<uint8_t> weights(static_cast<size_t>(k * n));
  for (uint8_t& weight : weights) weight = static_cast<uint8_t>(random());
  std::vector<float> a(static_cast<size_t>(rows * k)), scales(static_cast<size_t>(n)), zeros(scales.size());
  std::uniform_real_distribution<float> real(-1.0f, 1.0f);
  for (auto* values : {&a, &scales}) {
    for (float& value : *values) value = real(random);
  }
  for (float& zero : zeros) zero = static_cast<float>(random() % 256) - 128;
  for (const bool is_signed : {false, true}) {
    for (const int64_t step : {0, 1}) {
      SCOPED_TRACE(::testing::Message() << "signed " << is_signed << ", step " << step);
      std::vector<int8_t> panels(GatePanelsSize(k, n));
      PackGatePanels(*pool, weights.data(), is_signed, k, n, panels.data());
      std::vector<LimbWeights> limbs;
      for (int64_t k0 = 0; k0 < k; k0 += GateMatrix::kDepth) {
        limbs.emplace_back(
            PackWeightsS8(*pool, {weights.data() + k0 * n, is_signed, n, std::min(GateMatrix::kDepth, k - k0), 1, n},
                          PanelLayout::kVectors));
      }
      const ColumnScales columns{scales.data(), step, step == 0 ? nullptr : zeros.data(), step};
      const std::vector<float> expected = Multiply(*pool, {k, n, panels.data(), {}, columns}, rows, a),
                               given = Multiply(*pool, {k, n, nullptr, limbs, columns}, rows, a);
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_FLOAT_EQ(given[i], expected[i]) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GateMatMul,
                         ::testing::Values(GateCase{1, 1, 1}, GateCase{1, 7, 33}, GateCase{2, 64, 32},
                                           GateCase{3, 130, 100}, GateCase{4, 33, 17}, GateCase{5, 200, 64},
                                           GateCase{17, 64, 300}, GateCase{40, 100, 256}, GateCase{64, 513, 40},
                                           GateCase{2, 5000, 48}, GateCase{33, 4100, 70}));

}  // namespace
}  // namespace tessera::cpu
