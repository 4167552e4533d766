// Lone depthwise convolutions whose windows have no kernel for planes, and deformable ones, as their definitions have them.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "attributes.h"
#include "model_builder.h"

namespace tessera::image_windows {
namespace {

std::vector<float> Random(int64_t count, unsigned seed, float most = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> numbers(-most, most);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = numbers(random);
  return values;
}

struct DepthwiseCase {
  int64_t channels, kernel_rows, kernel_columns, stride, dilation, pad;
  bool relu;
};

class LoneDepthwise : public ::testing::TestWithParam<DepthwiseCase> {};

TEST_P(LoneDepthwise, IsThatOfTheDefinition) {
  const DepthwiseCase& c = GetParam();
  constexpr int64_t kBatch = 2, kHeight = 15, kWidth = 19;
  const std::vector<float> x = Random(kBatch * c.channels * kHeight * kWidth, 1);
  const std::vector<float> weights = Random(c.channels * c.kernel_rows * c.kernel_columns, 2), bias = Random(c.channels, 3);
  testing::ModelBuilder model;
  model.Input("x", ElementType::kFloat, {kBatch, c.channels, kHeight, kWidth})
      .Output("y", ElementType::kFloat, {-1, -1, -1, -1});
  model.Floats("w", {c.channels, 1, c.kernel_rows, c.kernel_columns}, weights).Floats("b", {c.channels}, bias);
  auto& node = model.Node("Conv", {"x", "w", "b"}, {c.relu ? "sum" : "y"});
  testing::Int(node, "group", c.channels);
  testing::Ints(node, "pads", {c.pad, c.pad, c.pad, c.pad});
  testing::Ints(node, "strides", {c.stride, c.stride});
  testing::Ints(node, "dilations", {c.dilation, c.dilation});
  if (c.relu) model.Node("Relu", {"sum"}, {"y"});
  const auto y = testing::ToVector(model.Session().Run(
      std::vector<std::string>{"x"}, std::vector<Value>{testing::Floats({kBatch, c.channels, kHeight, kWidth}, x)})[0]);
  const int64_t rows = (kHeight + 2 * c.pad - (c.kernel_rows - 1) * c.dilation - 1) / c.stride + 1;
  const int64_t columns = (kWidth + 2 * c.pad - (c.kernel_columns - 1) * c.dilation - 1) / c.stride + 1;
  ASSERT_EQ(static_cast<int64_t>(y.size()), kBatch * c.channels * rows * columns);
  for (int64_t i = 0; i < kBatch * c.channels * rows * columns; ++i) {
    const int64_t plane = i / (rows * columns), channel = plane % c.channels;
    double sum = bias[static_cast<size_t>(channel)];
    for (int64_t k = 0; k < c.kernel_rows * c.kernel_columns; ++k) {
      const int64_t r = i / columns % rows * c.stride + k / c.kernel_columns * c.dilation - c.pad;
      const int64_t column = i % columns * c.stride + k % c.kernel_columns * c.dilation - c.pad;
      if (r < 0 || r >= kHeight || column < 0 || column >= kWidth) continue;
      sum += static_cast<double>(x[static_cast<size_t>((plane * kHeight + r) * kWidth + column)]) *
             weights[static_cast<size_t>(channel * c.kernel_rows * c.kernel_columns + k)];
    }
    ASSERT_NEAR(y[static_cast<size_t>(i)], c.relu ? std::max(sum, 0.0) : sum, 1e-4) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, LoneDepthwise,
                         ::testing::Values(DepthwiseCase{16, 7, 7, 1, 1, 3, false}, DepthwiseCase{16, 7, 7, 2, 1, 3, true},
                                           DepthwiseCase{24, 3, 3, 1, 2, 2, false}, DepthwiseCase{8, 3, 3, 2, 3, 3, false},
                                           DepthwiseCase{16, 5, 5, 1, 2, 4, true}, DepthwiseCase{16, 3, 5, 1, 1, 1, false},
                                           DepthwiseCase{16, 13, 13, 1, 1, 6, false},
                                           DepthwiseCase{12, 7, 7, 1, 1, 3, false}, DepthwiseCase{16, 5, 5, 3, 1, 2, false},
                                           DepthwiseCase{16, 9, 3, 1, 1, 4, false}));

/// Offsets that leave the image, reach over its borders, and stay inside; two groups of them.
TEST(DeformConv, IsThatOfTheDefinition) {
  constexpr int64_t kChannels = 4, kOutputs = 3, kHeight = 7, kWidth = 9, kGroups = 2, kPixels = kHeight * kWidth;
  for (const bool masked : {false, true}) {
    const std::vector<float> x = Random(kChannels * kPixels, 1), weights = Random(kOutputs * kChannels * 9, 2);
    const std::vector<float> offsets = Random(kGroups * 18 * kPixels, 3, 4), mask = Random(kGroups * 9 * kPixels, 4);
    testing::ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1, kChannels, kHeight, kWidth})
        .Output("y", ElementType::kFloat, {-1, -1, -1, -1});
    model.Floats("w", {kOutputs, kChannels, 3, 3}, weights).Floats("o", {1, kGroups * 18, kHeight, kWidth}, offsets);
    model.Floats("m", {1, kGroups * 9, kHeight, kWidth}, mask);
    auto& node = model.Node("DeformConv", {"x", "w", "o", "", masked ? "m" : ""}, {"y"});
    testing::Ints(node, "pads", {1, 1, 1, 1});
    testing::Int(node, "offset_group", kGroups);
    const auto y = testing::ToVector(model.Session().Run(
        std::vector<std::string>{"x"}, std::vector<Value>{testing::Floats({1, kChannels, kHeight, kWidth}, x)})[0]);
    const auto sample = [&](int64_t channel, double v, double h) {
      double sum = 0;
      for (int64_t r = 0; r < kHeight; ++r) {
        for (int64_t c = 0; c < kWidth; ++c) {
          const double near = std::max(0.0, 1 - std::abs(v - static_cast<double>(r))) *
                              std::max(0.0, 1 - std::abs(h - static_cast<double>(c)));
          sum += near * x[static_cast<size_t>(channel * kPixels + r * kWidth + c)];
        }
      }
      return sum;
    };
    for (int64_t i = 0; i < kOutputs * kPixels; ++i) {
      const int64_t pixel = i % kPixels;
      double sum = 0;
      for (int64_t j = 0; j < kChannels * 9; ++j) {
        const int64_t channel = j / 9, k = j % 9, position = channel / (kChannels / kGroups) * 9 + k;
        const auto at = static_cast<size_t>(position * 2 * kPixels + pixel);
        const double v = static_cast<double>(pixel / kWidth + k / 3 - 1) + offsets[at];
        const double h = static_cast<double>(pixel % kWidth + k % 3 - 1) + offsets[at + kPixels];
        const double factor = masked ? mask[static_cast<size_t>(position * kPixels + pixel)] : 1.0;
        sum += sample(channel, v, h) * factor * weights[static_cast<size_t>(i / kPixels * kChannels * 9 + j)];
      }
      ASSERT_NEAR(y[static_cast<size_t>(i)], sum, 1e-4) << i;
    }
  }
}

}  // namespace
}  // namespace tessera::image_windows
