// Pools whose windows are far larger than what they see of the input: work follows what is inside.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attributes.h"
#include "model_builder.h"

namespace tessera {
namespace {

using testing::Int;
using testing::Ints;
using testing::ModelBuilder;

constexpr int64_t kTaps = 1 << 20, kWidth = 4, kOutputs = kTaps + 2;
constexpr float kRow[kWidth] = {3, -1, 4, 1.5};

enum class Kind { kMax, kAverage, kNorm };

/// Output `o`, whose window ends with element `o`, of a row that is `channel` larger.
float Expected(Kind kind, int64_t o, float channel) {
  const int64_t first = std::max<int64_t>(0, o - kTaps + 1), end = std::min<int64_t>(kWidth, o + 1);
  float largest = kRow[first] + channel, sum = 0, squares = 0;
  for (int64_t i = first; i < end; ++i) {
    const float x = kRow[i] + channel;
    largest = std::max(largest, x);
    sum += x;
    squares += x * x;
  }
  if (kind == Kind::kMax) return largest;
  return kind == Kind::kAverage ? sum / static_cast<float>(end - first) : std::sqrt(squares);
}

void ExpectOutputs(const Tensor& y, Kind kind, int64_t channels) {
  ASSERT_EQ(y.num_elements(), channels * kOutputs);
  int64_t wrong = 0;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t o = 0; o < kOutputs; ++o) {
      const float got = y.data<float>()[c * kOutputs + o];
      wrong += std::abs(got - Expected(kind, o, static_cast<float>(c))) <= 1e-5F * std::abs(got) ? 0 : 1;
    }
  }
  EXPECT_EQ(wrong, 0);
}

Value Rows(const Shape& shape) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i) values.push_back(kRow[i % kWidth] + static_cast<float>(i / kWidth));
  return Tensor::Of<float>(shape, values);
}

Tensor Pooled(const ModelBuilder& model, const Value& x) {
  std::vector<Value> results(1);
  model.Session().Run({&x, 1}, results);
  return results[0].tensor();
}

TEST(HugeWindows, OfRows) {
  const std::pair<const char*, Kind> ops[] = {
      {"MaxPool", Kind::kMax}, {"AveragePool", Kind::kAverage}, {"LpPool", Kind::kNorm}};
  for (const auto& [op, kind] : ops) {
    SCOPED_TRACE(op);
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1, 2, kWidth}).Output("y", ElementType::kFloat, {1, 2, kOutputs});
    auto& pool = model.Node(op, {"x"}, {"y"});
    Ints(pool, "kernel_shape", {kTaps});
    Ints(pool, "pads", {kTaps - 1, kTaps - 2});
    if (kind == Kind::kNorm) Int(pool, "p", 2);
    ExpectOutputs(Pooled(model, Rows({1, 2, kWidth})), kind, 2);
  }
}

/// In NCHW8c, between convolutions that leave the values as they are.
TEST(HugeWindows, OfBlocksOfChannels) {
  constexpr int64_t kChannels = 8;
  std::vector<float> identity(kChannels * kChannels);
  for (size_t c = 0; c < kChannels; ++c) identity[c * kChannels + c] = 1;
  for (const Kind kind : {Kind::kMax, Kind::kAverage}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1, kChannels, 1, kWidth});
    model.Output("y", ElementType::kFloat, {1, kChannels, 1, kOutputs});
    model.Floats("w", {kChannels, kChannels, 1, 1}, identity);
    model.Node("Conv", {"x", "w"}, {"a"});
    auto& pool = model.Node(kind == Kind::kMax ? "MaxPool" : "AveragePool", {"a"}, {"b"});
    Ints(pool, "kernel_shape", {1, kTaps});
    Ints(pool, "pads", {0, kTaps - 1, 0, kTaps - 2});
    model.Node("Conv", {"b", "w"}, {"y"});
    ExpectOutputs(Pooled(model, Rows({1, kChannels, 1, kWidth})), kind, kChannels);
  }
}

/// Two taps of which one is always outside.
TEST(HugeWindows, OfDilations) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 1, kWidth}).Output("y", ElementType::kFloat, {1, 1, -1});
  auto& pool = model.Node("AveragePool", {"x"}, {"y"});
  Ints(pool, "kernel_shape", {2});
  Ints(pool, "dilations", {kTaps});
  Ints(pool, "pads", {kTaps, kTaps});
  const Tensor y = Pooled(model, Rows({1, 1, kWidth}));
  ASSERT_EQ(y.num_elements(), kTaps + kWidth);
  for (int64_t o = 0; o < y.num_elements(); ++o) {
    // The first tap sees element o - kTaps, the second element o.
    const float expected = o < kWidth ? kRow[o] : o >= kTaps ? kRow[o - kTaps] : 0;
    ASSERT_EQ(y.data<float>()[o], expected) << o;
  }
}

}  // namespace
}  // namespace tessera
