// Attention beside the same in plain loops: sizes around the edges of tiles and vectors, masks that leave tiles out, rows
// that see nothing, operands of bfloat16.

#include "kernels/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attributes.h"
#include "base/cpu_features.h"
#include "model_builder.h"
#include "on_each_target.h"
#include "random_numbers.h"

namespace tessera::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

/// What a mask holds; where it masks, it holds `masked`.
enum class Mask { kNone, kRandom, kFuture, kPadding, kBand, kEveryThird, kAll };

struct Attending {
  int64_t queries = 16, keys = 16, width = 8, value_width = 8;
  Mask mask = Mask::kNone;
  float masked = -kInfinity;
  bool causal = false;
  int64_t batch = 1, heads = 2, kv_heads = 2;
  bool mask_of_all = false;  // one for all batches and heads
  float softcap = 0;
};

bool Masks(Mask mask, int64_t i, int64_t j) {
  switch (mask) {
    case Mask::kNone:
    case Mask::kRandom: return false;
    case Mask::kFuture: return j > i;
    case Mask::kPadding: return j >= 5;
    case Mask::kBand: return j > i || j + 20 < i;
    case Mask::kEveryThird: return i % 3 == 0;
    case Mask::kAll: return true;
  }
  return false;
}

class AttentionModel {
 public:
  explicit AttentionModel(const Attending& a) : a_(a) {
    q_ = Random(static_cast<size_t>(a.batch * a.heads * a.queries * a.width), 1);
    k_ = Random(static_cast<size_t>(a.batch * a.kv_heads * a.keys * a.width), 2);
    v_ = Random(static_cast<size_t>(a.batch * a.kv_heads * a.keys * a.value_width), 3);
    const int64_t masks = a.mask_of_all ? 1 : a.batch * a.heads;
    mask_ = Random(static_cast<size_t>(masks * a.queries * a.keys), 4);
    for (int64_t m = 0; m < masks; ++m) {
      for (int64_t i = 0; i < a.queries * a.keys; ++i) {
        if (Masks(a.mask, i / a.keys, i % a.keys)) mask_[static_cast<size_t>(m * a.queries * a.keys + i)] = a.masked;
      }
    }
  }

  std::vector<float> Run(int threads, const std::string& precision = "") const {
    SessionOptions options;
    options.intra_op_threads = threads;
    if (!precision.empty()) options.config["session.precision"] = precision;
    ModelBuilder model(23);
    std::vector<Value> inputs;
    const auto add = [&](const char* name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
      model.Input(name, ElementType::kFloat, dims);
      inputs.push_back(Tensor::Of<float>(Shape(dims), values));
    };
    add("q", {a_.batch, a_.heads, a_.queries, a_.width}, q_);
    add("k", {a_.batch, a_.kv_heads, a_.keys, a_.width}, k_);
    add("v", {a_.batch, a_.kv_heads, a_.keys, a_.value_width}, v_);
    std::vector<std::string> names = {"q", "k", "v"};
    if (a_.mask != Mask::kNone) {
      add("m", {a_.mask_of_all ? 1 : a_.batch, a_.mask_of_all ? 1 : a_.heads, a_.queries, a_.keys}, mask_);
      names.push_back("m");
    }
    model.Output("y", ElementType::kFloat, {-1, -1, -1, -1});
    auto& node = ModelBuilder::AddNode(*model.proto().mutable_graph(), "Attention", names, {"y"}, "only");
    Int(node, "is_causal", a_.causal);
    if (a_.softcap > 0) Float(node, "softcap", a_.softcap);
    const Session session = model.Session(options);
    precision_.clear();
    for (const auto& entry : session.placement().nodes) {
      if (entry.name == "only") precision_ = entry.precision;
    }
    std::vector<Value> results(1);
    session.Run(inputs, results);
    return ToVector(results[0]);
  }

  std::vector<float> Expected() const {
    std::vector<float> y;
    for (int64_t row = 0; row < a_.batch * a_.heads * a_.queries; ++row) ExpectedRow(row, y);
    return y;
  }

  /// Of the last session.
  const std::string& precision() const { return precision_; }

  std::vector<float> q_, k_, v_, mask_;

 private:
  void ExpectedRow(int64_t row, std::vector<float>& y) const {
    const int64_t i = row % a_.queries, head = row / a_.queries, b = head / a_.heads;
    const int64_t kv = b * a_.kv_heads + head % a_.heads / (a_.heads / a_.kv_heads);
    const float* bias = a_.mask == Mask::kNone
                            ? nullptr
                            : &mask_[static_cast<size_t>(((a_.mask_of_all ? 0 : head) * a_.queries + i) * a_.keys)];
    const int64_t end = a_.causal ? std::min(a_.keys, i + 1) : a_.keys;
    std::vector<double> scores;
    double top = -kInfinity, sum = 0;
    bool seen = false;
    for (int64_t j = 0; j < end; ++j) {
      double score = 0;
      for (int64_t c = 0; c < a_.width; ++c)
        score += At(q_, row * a_.width + c) * At(k_, (kv * a_.keys + j) * a_.width + c);
      score /= std::sqrt(static_cast<double>(a_.width));
      if (a_.softcap > 0) score = a_.softcap * std::tanh(score / a_.softcap);
      scores.push_back(bias == nullptr ? score : static_cast<float>(score + bias[j]));
      seen |= bias == nullptr || bias[j] != -kInfinity;
      top = scores.back() > top ? scores.back() : top;
    }
    for (double& score : scores) sum += score = std::exp(score - (std::isinf(top) ? 0 : top));
    for (int64_t c = 0; c < a_.value_width; ++c) {
      double value = 0;
      for (int64_t j = 0; j < end; ++j)
        value += scores[static_cast<size_t>(j)] * At(v_, (kv * a_.keys + j) * a_.value_width + c);
      y.push_back(seen ? static_cast<float>(value / sum) : 0.0f);
    }
  }

  static double At(const std::vector<float>& values, int64_t i) { return values[static_cast<size_t>(i)]; }

  Attending a_;
  mutable std::string precision_;
};

void ExpectNear(const std::vector<float>& found, const std::vector<float>& expected, float tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i])) ASSERT_TRUE(std::isnan(found[i])) << i << " is " << found[i];
    else ASSERT_NEAR(found[i], expected[i], tolerance) << i;
  }
}

void Check(const Attending& a) {
  SCOPED_TRACE(::testing::Message() << a.queries << " queries, " << a.keys << " keys, " << a.width << " and "
                                    << a.value_width << " wide, mask " << static_cast<int>(a.mask) << " of " << a.masked
                                    << ", causal " << a.causal);
  const AttentionModel model(a);
  const std::vector<float> expected = model.Expected();
  for (const int threads : {1, 3}) ExpectNear(model.Run(threads), expected, 5e-6f);
  ExpectNear(model.Run(1, "bf16"), expected, 0.02f);
  const bool rounds = a.queries >= 8 && HasFastAvx512Bf16();
  EXPECT_EQ(model.precision() == "bf16", rounds);
}

TEST(Attention, EdgesOfTilesAndVectors) {
  for (const int64_t queries : {1, 2, 7, 8, 9, 47, 49, 60, 61, 73}) Check({.queries = queries, .keys = 33});
  for (const int64_t keys : {1, 2, 15, 17, 31, 32, 63, 65, 513, 1031})
    Check({.queries = 13, .keys = keys, .mask = Mask::kRandom});
  for (const int64_t width : {1, 3, 16, 33, 130, 257}) Check({.queries = 9, .keys = 21, .width = width, .value_width = 5});
  for (const int64_t width : {1, 16, 31, 32, 33, 64, 100})
    Check({.queries = 25, .keys = 19, .width = 7, .value_width = width});
}

TEST(Attention, Heads) {
  Check({.queries = 49,
         .keys = 49,
         .width = 32,
         .value_width = 32,
         .mask = Mask::kRandom,
         .batch = 3,
         .heads = 4,
         .kv_heads = 4});
  Check({.queries = 50, .keys = 50, .mask = Mask::kFuture, .batch = 2, .heads = 6, .kv_heads = 2, .mask_of_all = true});
  Check({.queries = 1, .keys = 90, .mask = Mask::kPadding, .batch = 2, .heads = 6, .kv_heads = 2});
  Check({.queries = 20, .keys = 90, .causal = true, .batch = 9, .heads = 6, .kv_heads = 3, .softcap = 0.7f});
}

TEST(Attention, Masks) {
  for (const float masked :
       {-kInfinity, std::numeric_limits<float>::lowest(), -1e30f, -1e29f, -1e10f, -10000.0f, kInfinity, kNaN}) {
    for (const Mask mask : {Mask::kFuture, Mask::kPadding, Mask::kBand, Mask::kEveryThird, Mask::kAll}) {
      // Infinity as a mask means NaN; finite ones leave a row that they cover as it is, but for rounding.
      const bool covers = mask == Mask::kEveryThird || mask == Mask::kAll;
      if (masked == kInfinity || (covers && std::abs(masked) > 1e4f && !std::isinf(masked))) continue;
      Check({.queries = 100, .keys = 100, .mask = mask, .masked = masked});
      Check({.queries = 30, .keys = 41, .mask = mask, .masked = masked, .causal = true});
    }
  }
}

/// A mask of the lowest number covers all scores of a row alike: the mean of all values.
TEST(Attention, RowsThatFiniteMasksCover) {
  const Attending a{.queries = 12,
                    .keys = 40,
                    .mask = Mask::kAll,
                    .masked = std::numeric_limits<float>::lowest(),
                    .heads = 1,
                    .kv_heads = 1};
  const AttentionModel model(a);
  std::vector<float> mean(static_cast<size_t>(a.value_width));
  for (size_t i = 0; i < model.v_.size(); ++i) mean[i % mean.size()] += model.v_[i] / 40;
  const std::vector<float> found = model.Run(1);
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], mean[i % mean.size()], 1e-5f) << i;
}

/// Keys that masks leave out may not hide what is no number, or too large for the mask.
TEST(Attention, WhatIsNoNumberComesThrough) {
  const Attending a{.queries = 30, .keys = 30, .mask = Mask::kFuture, .masked = -1e30f, .heads = 1, .kv_heads = 1};
  AttentionModel key(a), value(a), query(a), large(a);
  key.k_[static_cast<size_t>(29 * a.width)] = kNaN;
  value.v_[static_cast<size_t>(29 * a.value_width + 1)] = kInfinity;
  query.q_[static_cast<size_t>(3 * a.width)] = kNaN;
  for (const AttentionModel* model : {&key, &query}) ExpectNear(model->Run(1), model->Expected(), 1e-5f);
  EXPECT_TRUE(std::isnan(value.Run(1)[1]));
  for (int64_t c = 0; c < a.width; ++c)
    large.k_[static_cast<size_t>(29 * a.width + c)] = large.q_[static_cast<size_t>(c)] * 1e35f;
  ExpectNear(large.Run(1), large.Expected(), 1e-5f);
}

/// What lies in a cache behind the valid keys may be anything.
TEST(Attention, NothingBehindTheLengthsIsRead) {
  constexpr int64_t kQueries = 9, kKeys = 64, kWidth = 8;
  for (const int64_t length : {9, 33, 48}) {
    ModelBuilder model(24);
    std::vector<Value> inputs;
    for (const char* name : {"q", "k", "v"}) {
      const int64_t rows = name[0] == 'q' ? kQueries : kKeys;
      model.Input(name, ElementType::kFloat, {1, 1, rows, kWidth});
      std::vector<float> values = Random(static_cast<size_t>(rows * kWidth), 3);
      if (name[0] != 'q') std::fill(values.begin() + length * kWidth, values.end(), kNaN);
      inputs.push_back(Tensor::Of<float>({1, 1, rows, kWidth}, values));
    }
    model.Input("n", ElementType::kInt64, {1});
    inputs.push_back(Tensor::Of<int64_t>({1}, std::vector<int64_t>{length}));
    model.Output("y", ElementType::kFloat, {-1, -1, -1, -1});
    ModelBuilder::AddNode(*model.proto().mutable_graph(), "Attention", {"q", "k", "v", "", "", "", "n"}, {"y"});
    for (const char* precision : {"f32", "bf16"}) {
      SessionOptions options;
      options.config["session.precision"] = precision;
      std::vector<Value> results(1);
      model.Session(options).Run(inputs, results);
      for (const float value : ToVector(results[0]))
        ASSERT_TRUE(std::isfinite(value)) << precision << ", length " << length;
    }
  }
}

/// Two blocks of keys of one row, of which it sees [begin, end).
void CheckRow(int64_t begin, int64_t end, const std::vector<float>& bias) {
  const std::vector<float> scores = Random(64, 9, -20, 20);
  cpu::ScoreRow<float> row;
  row.bias = bias.empty() ? nullptr : bias.data();
  row.begin = begin;
  row.end = end;
  row.max = -kInfinity;
  double top = -kInfinity, sum = 0;
  for (int64_t k0 : {0, 32}) {
    std::vector<float> found(scores.begin() + k0, scores.begin() + k0 + 32);
    cpu::SoftmaxRows<float>(&row, 1, found.data(), 32, k0, k0 == 0 ? 32 : 29);
    for (int64_t j = k0; j < k0 + 32; ++j) {
      if (j >= begin && j < std::min<int64_t>(end, 61))
        top = std::max(top, static_cast<double>(scores[j] + (bias.empty() ? 0 : bias[j])));
    }
    double block = 0;
    for (int64_t j = k0; j < k0 + 32; ++j) {
      const bool seen = j >= begin && j < std::min<int64_t>(end, 61) && !std::isinf(top);
      const double expected = seen ? std::exp(scores[j] + (bias.empty() ? 0 : bias[j]) - top) : 0;
      block += expected;
      ASSERT_NEAR(found[static_cast<size_t>(j - k0)], expected, 2e-6) << "key " << j << " of " << begin << " to " << end;
    }
    sum = sum * row.rescale + block;
    ASSERT_EQ(row.max, static_cast<float>(top));
    ASSERT_NEAR(row.sum, sum, 1e-5 * (1 + sum));
  }
}

TEST(Attention, SoftmaxOfEveryInstructionSet) {
  const std::vector<float> bias = Random(61, 5);
  OnEachTarget([&] {
    for (int64_t begin = 0; begin < 61; begin += 3) {
      for (int64_t end = begin; end <= 61; end += 2) {
        CheckRow(begin, end, {});
        CheckRow(begin, end, bias);
      }
    }
    std::vector<float> numbers = Random(37, 6);
    numbers[20] = -7;
    EXPECT_EQ(cpu::LargestMagnitude(numbers.data(), 1, 0, 37), 7);
    EXPECT_EQ(cpu::LargestMagnitude(numbers.data(), 3, 0, 0), 0);
    numbers[36] = kNaN;
    EXPECT_TRUE(std::isnan(cpu::LargestMagnitude(numbers.data(), 1, 0, 37)));
  });
}

}  // namespace
}  // namespace tessera::testing
