// Attention with as many queries and keys as blocks and vectors end in between, against plain loops.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model_builder.h"

namespace tessera {
namespace {

using testing::Floats;
using testing::ModelBuilder;
using testing::ToVector;

constexpr int64_t kBatch = 2, kHeads = 2, kWidth = 5;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  int64_t queries, keys, mask_batch;
};

struct Attended {
  std::vector<float> q, k, v, mask;
};

Attended Numbers(const Case& c) {
  const auto numbers = [](int64_t count, float step) {
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) values[i] = 2 * std::sin(step * static_cast<float>(i + 1));
    return values;
  };
  Attended a{numbers(kBatch * kHeads * c.queries * kWidth, 0.7f), numbers(kBatch * kHeads * c.keys * kWidth, 1.1f),
             numbers(kBatch * kHeads * c.keys * kWidth, 1.3f), numbers(c.mask_batch * c.queries * c.keys, 1.7f)};
  for (size_t i = 0; i < a.mask.size(); i += 3) a.mask[i] = -kInfinity;
  // The last query sees nothing, the first one only the last key.
  std::fill(a.mask.end() - c.keys, a.mask.end(), -kInfinity);
  if (c.queries > 1) {
    std::fill_n(a.mask.begin(), c.keys, -kInfinity);
    a.mask[static_cast<size_t>(c.keys) - 1] = 1;
  }
  return a;
}

/// Row `i` of head `n`, of batch and heads together.
std::vector<double> Expected(const Case& c, const Attended& a, int64_t n, int64_t i) {
  std::vector<double> scores(static_cast<size_t>(c.keys)), result(kWidth);
  double sum = 0;
  for (int64_t j = 0; j < c.keys; ++j) {
    double score = 0;
    for (int64_t p = 0; p < kWidth; ++p)
      score += static_cast<double>(a.q[(n * c.queries + i) * kWidth + p]) * a.k[(n * c.keys + j) * kWidth + p];
    const int64_t batch = c.mask_batch == 1 ? 0 : n / kHeads;
    scores[j] = std::exp(score / std::sqrt(double{kWidth}) + a.mask[(batch * c.queries + i) * c.keys + j]);
    sum += scores[j];
  }
  if (sum == 0) return result;
  for (int64_t j = 0; j < c.keys; ++j) {
    for (int64_t p = 0; p < kWidth; ++p) result[p] += scores[j] / sum * a.v[(n * c.keys + j) * kWidth + p];
  }
  return result;
}

class AttentionRows : public ::testing::TestWithParam<Case> {};

TEST_P(AttentionRows, WithMask) {
  const Case& c = GetParam();
  const Attended a = Numbers(c);
  const std::vector<int64_t> q = {kBatch, kHeads, c.queries, kWidth}, k = {kBatch, kHeads, c.keys, kWidth};
  const std::vector<int64_t> mask = {c.mask_batch, 1, c.queries, c.keys};
  ModelBuilder model(23);
  model.Input("q", ElementType::kFloat, q).Input("k", ElementType::kFloat, k).Input("v", ElementType::kFloat, k);
  model.Input("m", ElementType::kFloat, mask).Output("y", ElementType::kFloat, q);
  model.Node("Attention", {"q", "k", "v", "m"}, {"y"});
  const std::vector<Value> inputs = {Floats(q, a.q), Floats(k, a.k), Floats(k, a.v), Floats(mask, a.mask)};
  std::vector<Value> results(1);
  model.Session().Run(inputs, results);
  const std::vector<float> y = ToVector(results[0]);
  for (int64_t row = 0; row < kBatch * kHeads * c.queries; ++row) {
    const std::vector<double> expected = Expected(c, a, row / c.queries, row % c.queries);
    for (int64_t p = 0; p < kWidth; ++p)
      ASSERT_NEAR(y[static_cast<size_t>(row * kWidth + p)], expected[p], 2e-5) << "row " << row;
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const int64_t queries : {1, 7, 8, 47, 48, 49, 59, 60, 97, 107}) {
    for (const int64_t keys : {1, 15, 16, 17, 33, 49, 64}) cases.push_back({queries, keys, 1 + (queries + keys) % 2});
  }
  cases.push_back({50, 512, 1});
  cases.push_back({50, 513, 2});
  cases.push_back({3, 1040, 1});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Sizes, AttentionRows, ::testing::ValuesIn(Cases()), [](const auto& info) {
  return std::to_string(info.param.queries) + "_by_" + std::to_string(info.param.keys);
});

}  // namespace
}  // namespace tessera
