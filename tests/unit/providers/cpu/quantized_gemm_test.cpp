// GEMMs of bytes with packed weights are exact, whatever became an outlier.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/gemm/gemm_u8s8_kernels.h"
#include "kernels/gemm/outliers.h"
#include "runtime/threads/thread_pools.h"

namespace tessera::cpu {
namespace {

struct QuantizedGemmCase {
  int64_t m, n, k;
  int spread;  // of the weights; 0: the least and the greatest only
  int q;       // of the other operand; -1: any
};

/// The rows of kernels.inc that this machine has.
std::vector<U8S8Row> Kinds() {
  std::vector<U8S8Row> kinds(RowsU8S8().begin(), RowsU8S8().end());
  std::erase_if(kinds, [](const U8S8Row& kind) { return !kind.kernels.available; });
  return kinds;
}

/// Output channels of k weights.
std::vector<uint8_t> MakeWeights(const QuantizedGemmCase& test, std::mt19937& random) {
  std::normal_distribution<double> normal(0.0, test.spread);
  std::vector<uint8_t> weights(static_cast<size_t>(test.n * test.k));
  for (uint8_t& weight : weights) {
    const double value =
        test.spread == 0 ? (random() % 2 == 0 ? -128.0 : 127.0) : std::clamp(normal(random), -128.0, 127.0);
    weight = static_cast<uint8_t>(static_cast<int8_t>(value));
  }
  return weights;
}

uint8_t MakeQuantized(const QuantizedGemmCase& test, std::mt19937& random) {
  return static_cast<uint8_t>(test.q < 0 ? random() % 256 : static_cast<uint32_t>(test.q));
}

class QuantizedGemm : public ::testing::TestWithParam<QuantizedGemmCase> {};

/// `transposes`: rows for the outliers, whether or not that pays.
void CheckRows(const QuantizedGemmCase& test, const U8S8Kernels& kernels, bool transposes) {
  const auto pool = MakeSerialPool();
  const RunScope scope(*pool);
  std::mt19937 random(static_cast<uint32_t>(test.n * 31 + test.k));
  const std::vector<uint8_t> weights = MakeWeights(test, random);
  const WeightSource source{weights.data(), true, test.n, test.k, test.k, 1};
  const auto packed_weights = PackWeightsS8For(kernels, *pool, source, PanelLayout::kVectors);

  const int64_t row = packed_weights->wide() ? 2 * ((test.k + 1) / 2 * 2) : (test.k + 3) / 4 * 4;
  std::vector<uint8_t> a(static_cast<size_t>(test.m * test.k)), left(static_cast<size_t>(test.m * row));
  for (int64_t i = 0; i < test.m * test.k; ++i) {
    a[i] = MakeQuantized(test, random);
    left[i / test.k * row + i % test.k * (packed_weights->wide() ? 2 : 1)] = a[i];
  }
  const int64_t size = TransposedSize(test.k);
  std::vector<int16_t> transposed;
  for (int64_t m = 0; transposes && !packed_weights->outliers.empty() && m < test.m; m += kTransposedRows) {
    transposed.resize(transposed.size() + static_cast<size_t>(size));
    TransposePairs(left.data() + m * row, row, std::min(kTransposedRows, test.m - m), test.k,
                   transposed.data() + m / kTransposedRows * size);
  }
  const int64_t blocks = (test.n + packed_weights->width - 1) / packed_weights->width;
  std::vector<int32_t> add(static_cast<size_t>(blocks * packed_weights->width));
  std::copy(packed_weights->offsets.begin(), packed_weights->offsets.end(), add.begin());
  const std::vector<float> scales(add.size(), 1.0f);
  std::vector<float> c(static_cast<size_t>(test.m * test.n));
  const OutputStage store{OutputStage::kFloat, c.data(), test.n, add.data(), scales.data(), nullptr, 0, nullptr, nullptr};
  kernels.multiply_rows(*packed_weights, {left.data(), row, transposed.empty() ? nullptr : transposed.data()}, 0, test.m, 0,
                        blocks, store);

  for (int64_t i = 0; i < test.m; ++i) {
    for (int64_t j = 0; j < test.n; ++j) {
      int32_t expected = 0;
      for (int64_t p = 0; p < test.k; ++p) expected += a[i * test.k + p] * static_cast<int8_t>(weights[j * test.k + p]);
      ASSERT_EQ(c[i * test.n + j], static_cast<float>(expected))
          << "row " << i << ", line " << j << ", depth " << packed_weights->depth;
    }
  }

  const std::vector<float> small(add.size(), 0x1p-12f);
  std::vector<uint8_t> quantized(c.size() + 1, 77);
  const OutputStage bytes{
      OutputStage::kUInt8, quantized.data(), test.n, add.data(), small.data(), nullptr, 100, nullptr, nullptr};
  kernels.multiply_rows(*packed_weights, {left.data(), row, transposed.empty() ? nullptr : transposed.data()}, 0, test.m, 0,
                        blocks, bytes);
  for (size_t i = 0; i < c.size(); ++i)
    ASSERT_EQ(quantized[i], std::clamp(std::nearbyint(c[i] * 0x1p-12f) + 100, 0.0f, 255.0f)) << "element " << i;
  EXPECT_EQ(quantized.back(), 77) << "behind the last";
}

/// Output channels of weights times m pixels.
void CheckPanels(const QuantizedGemmCase& test, const U8S8Kernels& kernels, bool with_zeros) {
  const auto pool = MakeSerialPool();
  const RunScope scope(*pool);
  std::mt19937 random(static_cast<uint32_t>(test.n * 31 + test.k));
  const std::vector<uint8_t> weights = MakeWeights(test, random);
  const auto packed_weights =
      PackWeightsS8For(kernels, *pool, {weights.data(), true, test.n, test.k, test.k, 1}, PanelLayout::kBroadcast);

  std::vector<uint8_t> pixels(static_cast<size_t>(test.k * test.m));
  for (uint8_t& pixel : pixels) pixel = MakeQuantized(test, random);
  std::vector<int64_t> offsets(static_cast<size_t>(test.k));
  for (int64_t p = 0; p < test.k; ++p) offsets[p] = p * test.m;
  const PixelSource image{pixels.data(),         pixels.data() + pixels.size(), offsets.data(), offsets.back(), test.k, 0,
                          packed_weights->wide()};
  const int64_t width = PanelWidth(), bytes = PanelBytes(test.k, packed_weights->wide());
  std::vector<uint8_t> panels(static_cast<size_t>((test.m + width - 1) / width * bytes));
  for (int64_t n = 0; n < test.m; n += width) {
    const PixelRun run{n, 0, std::min(width, test.m - n)};
    PackPixels(image, &run, 1, panels.data() + n / width * bytes);
  }
  const std::vector<float> scales(static_cast<size_t>(test.n), 1.0f);
  std::vector<float> c(static_cast<size_t>(test.n * test.m));
  std::vector<int32_t> zeros(static_cast<size_t>(test.n));  // each pixel's sum counts so many times, too
  for (int64_t j = 0; with_zeros && j < test.n; ++j) zeros[j] = static_cast<int32_t>(j * 37 % 256) - 128;
  const OutputStage store{OutputStage::kFloat,
                          c.data(),
                          test.m,
                          packed_weights->offsets.data(),
                          scales.data(),
                          nullptr,
                          0,
                          nullptr,
                          with_zeros ? zeros.data() : nullptr};
  kernels.multiply_panels(*packed_weights, panels.data(), bytes, 0, test.m, 0,
                          (test.n + packed_weights->width - 1) / packed_weights->width, store);

  for (int64_t j = 0; j < test.n; ++j) {
    for (int64_t i = 0; i < test.m; ++i) {
      int32_t expected = 0;
      for (int64_t p = 0; p < test.k; ++p)
        expected += pixels[p * test.m + i] * (static_cast<int8_t>(weights[j * test.k + p]) + zeros[j]);
      ASSERT_EQ(c[j * test.m + i], static_cast<float>(expected))
          << "line " << j << ", pixel " << i << ", depth " << packed_weights->depth;
    }
  }
}

/// m rows of pixels times output channels of weights, to quantized values.
void CheckPaddedRows(const QuantizedGemmCase& test, const U8S8Kernels& kernels, bool with_zeros, bool is_signed) {
  const auto pool = MakeSerialPool();
  const RunScope scope(*pool);
  std::mt19937 random(static_cast<uint32_t>(test.n * 31 + test.k));
  const std::vector<uint8_t> weights = MakeWeights(test, random);
  const auto packed_weights =
      PackWeightsS8For(kernels, *pool, {weights.data(), true, test.n, test.k, test.k, 1}, PanelLayout::kPaddedRows);

  const int64_t row = (test.k + 3) / 4 * 4, blocks = (test.n + packed_weights->width - 1) / packed_weights->width,
                padded = blocks * packed_weights->width;
  std::vector<uint8_t> left(static_cast<size_t>(test.m * row));
  for (int64_t i = 0; i < test.m * test.k; ++i) left[i / test.k * row + i % test.k] = MakeQuantized(test, random);
  std::vector<int32_t> row_sums(static_cast<size_t>(test.m)), add(static_cast<size_t>(padded)), zeros(add.size());
  SumPaddedRows({left.data(), row, test.m}, row_sums.data());
  std::vector<float> scales(add.size());
  for (int64_t j = 0; j < test.n; ++j) {
    add[j] = packed_weights->offsets[j] + static_cast<int32_t>(j * 91 % 401) - 200;
    zeros[j] = with_zeros ? static_cast<int32_t>(j * 37 % 256) - 128 : 0;
    scales[j] = 0.5f / static_cast<float>(1 << (j % 14));  // sums that saturate, and that do not
  }
  constexpr int32_t kZero = 3;
  constexpr uint8_t kUntouched = 77;
  const int64_t out_row = test.n + 3;
  std::vector<uint8_t> quantized(static_cast<size_t>(test.m * out_row), kUntouched);
  const OutputStage store{is_signed ? OutputStage::kInt8 : OutputStage::kUInt8,
                          quantized.data(),
                          out_row,
                          add.data(),
                          scales.data(),
                          nullptr,
                          kZero,
                          row_sums.data(),
                          with_zeros ? zeros.data() : nullptr};
  kernels.multiply_padded_rows(*packed_weights, {left.data(), row, test.m}, 0, blocks, store);

  for (int64_t i = 0; i < test.m; ++i) {
    for (int64_t j = 0; j < test.n; ++j) {
      int32_t sum = static_cast<int32_t>(j * 91 % 401) - 200;
      for (int64_t p = 0; p < test.k; ++p)
        sum += left[i * row + p] * (static_cast<int8_t>(weights[j * test.k + p]) + zeros[j]);
      const float q = std::nearbyint(static_cast<float>(sum) * scales[j]) + static_cast<float>(kZero);
      const auto expected = static_cast<int>(is_signed ? std::clamp(q, -128.0f, 127.0f) : std::clamp(q, 0.0f, 255.0f));
      const uint8_t given = quantized[i * out_row + j];
      ASSERT_EQ(is_signed ? static_cast<int>(static_cast<int8_t>(given)) : given, expected)
          << "row " << i << ", line " << j;
    }
    for (int64_t j = test.n; j < out_row; ++j) ASSERT_EQ(quantized[i * out_row + j], kUntouched) << "behind row " << i;
  }
}

TEST_P(QuantizedGemm, AreExact) {
  for (const U8S8Row& kind : Kinds()) {
    SCOPED_TRACE(kind.name);
    for (const bool transposes : {false, true}) CheckRows(GetParam(), kind.kernels, transposes);
  }
}

TEST_P(QuantizedGemm, OfPixelsAreExact) {
  for (const U8S8Row& kind : Kinds()) {
    SCOPED_TRACE(kind.name);
    for (const bool with_zeros : {false, true}) CheckPanels(GetParam(), kind.kernels, with_zeros);
  }
}

TEST_P(QuantizedGemm, OfRowsThatBecomeQuantizedAreExact) {
  for (const U8S8Row& kind : Kinds()) {
    SCOPED_TRACE(kind.name);
    for (const bool with_zeros : {false, true}) {
      for (const bool is_signed : {false, true}) CheckPaddedRows(GetParam(), kind.kernels, with_zeros, is_signed);
    }
  }
}

/// Of more weights than stay in a cache: sums of parts are kept and added to.
TEST(QuantizedGemmDeep, AreExact) {
  const QuantizedGemmCase test{29, 40, 9001, 25, -1};
  for (const U8S8Row& kind : Kinds()) {
    SCOPED_TRACE(kind.name);
    for (const bool transposes : {false, true}) CheckRows(test, kind.kernels, transposes);
    CheckPanels(test, kind.kernels, true);
    CheckPaddedRows(test, kind.kernels, true, false);
  }
}

std::vector<QuantizedGemmCase> Cases() {
  std::vector<QuantizedGemmCase> cases;
  for (const int spread : {5, 25, 39, 60, 90, 0}) {
    for (const int q : {-1, 255, 0}) {
      for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                                    {3, 17, 7},
                                    {2, 70, 34},
                                    {19, 45, 12},
                                    {2, 50, 300},
                                    {16, 16, 64},
                                    {17, 40, 130},
                                    {33, 20, 200},
                                    {50, 33, 257},
                                    {100, 48, 512}}) {
        cases.push_back({m, n, k, spread, q});
      }
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, QuantizedGemm, ::testing::ValuesIn(Cases()));

std::vector<int8_t> Bytes(const Tensor& tensor) {
  const auto* data = tensor.data<int8_t>();
  return {data, data + tensor.num_elements()};
}

void ExpectSame(const PackedWeightsS8& a, const PackedWeightsS8& b) {
  EXPECT_EQ(a.depth, b.depth);
  EXPECT_EQ(a.sums, b.sums);
  EXPECT_EQ(a.offsets, b.offsets);
  EXPECT_EQ(Bytes(a.values), Bytes(b.values));
  EXPECT_EQ(a.extra_group, b.extra_group);
  EXPECT_EQ(Bytes(a.extras), Bytes(b.extras));
  EXPECT_EQ(a.outlier_begin, b.outlier_begin);
  ASSERT_EQ(a.outliers.size(), b.outliers.size());
  for (size_t i = 0; i < a.outliers.size(); ++i) {
    EXPECT_EQ(a.outliers[i].pair, b.outliers[i].pair);
    EXPECT_EQ(a.outliers[i].weights, b.outliers[i].weights);
  }
}

/// The same weights packed from lines, from columns, from every other byte, and as unsigned ones.
void CheckSources(const QuantizedGemmCase& test, const U8S8Kernels& kernels, PanelLayout side) {
  const auto pool = MakeSerialPool();
  const RunScope scope(*pool);
  std::mt19937 random(static_cast<uint32_t>(test.n + test.k));
  const std::vector<uint8_t> weights = MakeWeights(test, random);
  const auto expected = PackWeightsS8For(kernels, *pool, {weights.data(), true, test.n, test.k, test.k, 1}, side);
  for (int64_t j = 0; j < test.n; ++j) {
    int32_t sum = 0;
    for (int64_t p = 0; p < test.k; ++p) sum += static_cast<int8_t>(weights[j * test.k + p]);
    ASSERT_EQ(expected->sums[j], sum);
  }
  struct Strides {
    int64_t channel, k;
  };
  for (const Strides strides :
       {Strides{test.k, 1}, Strides{1, test.n}, Strides{2 * test.k + 3, 2}, Strides{1, test.n + 5}}) {
    for (const bool is_signed : {true, false}) {
      std::vector<uint8_t> moved(static_cast<size_t>((test.n - 1) * strides.channel + (test.k - 1) * strides.k + 1));
      for (int64_t i = 0; i < test.n * test.k; ++i) {
        moved[i / test.k * strides.channel + i % test.k * strides.k] =
            static_cast<uint8_t>(weights[i] + (is_signed ? 0 : 128));
      }
      SCOPED_TRACE(::testing::Message() << "strides " << strides.channel << ", " << strides.k << ", signed " << is_signed);
      ExpectSame(*expected, *PackWeightsS8For(kernels, *pool,
                                              {moved.data(), is_signed, test.n, test.k, strides.channel, strides.k}, side));
    }
  }
}

TEST(QuantizedGemmPacking, SourcesOfAnyOrderAndSignAgree) {
  for (const U8S8Row& kind : Kinds()) {
    for (const int spread : {5, 39, 60, 0}) {
      for (const auto& [n, k] : {std::array<int64_t, 2>{1, 1}, {17, 7}, {16, 64}, {40, 130}, {33, 257}}) {
        SCOPED_TRACE(::testing::Message() << kind.name << ", spread " << spread << ", " << n << " lines of " << k);
        CheckSources({0, n, k, spread, 0}, kind.kernels, PanelLayout::kVectors);
        CheckSources({0, n, k, spread, 0}, kind.kernels, PanelLayout::kBroadcast);
        CheckSources({0, n, k, spread, 0}, kind.kernels, PanelLayout::kPaddedRows);
      }
    }
  }
}

/// What the packing chooses for weights of full range, one scale a column, must not be the slow way.
TEST(QuantizedGemmPacking, FullRangeStandsAsideInPairs) {
  const auto pool = MakeSerialPool();
  const RunScope scope(*pool);
  std::mt19937 random(3);
  std::normal_distribution<double> normal(0.0, 38.0);
  constexpr int64_t kN = 64, kDepth = 768;
  std::vector<uint8_t> weights(kN * kDepth);
  for (uint8_t& weight : weights)
    weight = static_cast<uint8_t>(static_cast<int8_t>(std::clamp(normal(random), -127.0, 127.0)));
  if (!PairKernelsU8S8().available) GTEST_SKIP() << "no such instructions here";
  const auto packed_weights =
      PackWeightsS8For(PairKernelsU8S8(), *pool, {weights.data(), true, kN, kDepth, kDepth, 1}, PanelLayout::kVectors);
  EXPECT_FALSE(packed_weights->wide());
  EXPECT_EQ(packed_weights->outlier_begin.size(), static_cast<size_t>(kN) + 1);
  EXPECT_EQ(packed_weights->outlier_begin.back(), static_cast<int64_t>(packed_weights->outliers.size()));
}

}  // namespace
}  // namespace tessera::cpu
