// Values that lie inside what they are joined to, and parts that stay inside what they are cut from.

#include <gtest/gtest.h>

#include <random>

#include "attributes.h"
#include "model_builder.h"
#include "random_numbers.h"

namespace tessera {
namespace {

using testing::ModelBuilder;

SessionOptions InOrder(bool memory_pattern = true) {
  SessionOptions options;
  options.optimization_level = OptimizationLevel::kNone;
  options.intra_op_threads = 1;
  options.enable_memory_pattern = memory_pattern;
  return options;
}

/// A graph of rows [1, n] in which Concat, Slice and Split meet operators that work in place, views, sizes that depend on
/// data, values that are read again later, and rows that are joined side by side.
class RandomJoins {
 public:
  explicit RandomJoins(unsigned seed) : random_(seed) {
    model_.Input("x", ElementType::kFloat, {1, kWidth}).Input("end", ElementType::kInt64, {1});
    model_.Ints("zero", {0}).Ints("width", {kWidth}).Ints("axis", {1}).Ints("two_rows", {2, -1}).Ints("one_row", {1, -1});
    values_ = {{"x", kWidth}};
    values_.push_back(Add("Slice", {"x", "zero", "end", "axis"}, kWidth));
    for (int i = 0; i < 25; ++i) {
      Row row = Next();
      if (row.most > kMost) row = Add("Slice", {row.name, "zero", "width", "axis"}, kWidth);
      values_.push_back(row);
    }
    for (int i = 0; i < 3; ++i) {
      const std::string name = "y" + std::to_string(i);
      model_.Node("Neg", {Any().name}, {name});
      model_.Output(name, ElementType::kFloat, {1, -1});
    }
  }

  static constexpr int64_t kWidth = 192;
  const ModelBuilder& model() const { return model_; }

 private:
  struct Row {
    std::string name;
    int64_t most;  // elements
  };
  static constexpr int64_t kMost = 20 * kWidth;

  size_t Below(size_t end) { return random_() % end; }
  /// Mostly one of the last.
  const Row& Any() { return values_[values_.size() - 1 - std::min(Below(values_.size()), Below(values_.size()))]; }
  std::string NewName() { return "v" + std::to_string(made_++); }
  onnx::NodeProto& AddNode(const std::string& op, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs) {
    return ModelBuilder::AddNode(*model_.proto().mutable_graph(), op, inputs, outputs);
  }
  Row Add(const std::string& op, const std::vector<std::string>& inputs, int64_t most) {
    const std::string name = NewName();
    AddNode(op, inputs, {name});
    return {name, most};
  }
  Row Join(const std::vector<Row>& parts) {
    Row joined{NewName(), 0};
    std::vector<std::string> names;
    for (const Row& part : parts) names.push_back(part.name), joined.most += part.most;
    testing::Int(AddNode("Concat", names, {joined.name}), "axis", 1);
    return joined;
  }

  Row Next() {
    switch (Below(6)) {
      case 0: return Map(Any());
      case 1: {
        const Row a = Any(), b = Below(2) == 0 ? a : Map(a);
        return Add("Add", {a.name, b.name}, a.most);
      }
      case 2: {  // of which both halves are read
        const Row a = Any(), whole = Join(std::vector<Row>(2 * (1 + Below(2)), a));
        const Row first{NewName(), whole.most / 2}, second{NewName(), whole.most / 2};
        testing::Int(testing::Int(AddNode("Split", {whole.name}, {first.name, second.name}), "axis", 1), "num_outputs", 2);
        return Add("Sub", {Below(2) == 0 ? first.name : Map(first).name, second.name}, first.most);
      }
      case 3: {  // two rows, side by side
        const Row a = Any(), even = Join({a, a}), rows = Add("Reshape", {even.name, "two_rows"}, even.most);
        return Add("Reshape", {Join({Map(rows), rows}).name, "one_row"}, 2 * even.most);
      }
      default: {
        std::vector<Row> parts;
        if (!joined_.empty() && Below(3) == 0) parts = joined_[Below(joined_.size())];  // as one before, and more
        for (size_t i = 0; i < 1 + Below(3); ++i) parts.push_back(Any());
        joined_.push_back(parts);
        return Below(2) == 0 ? Join(parts) : Map(Join(parts));
      }
    }
  }
  Row Map(const Row& a) { return Add(Below(2) == 0 ? "Neg" : "Relu", {a.name}, a.most); }

  std::mt19937 random_;
  ModelBuilder model_;
  std::vector<Row> values_;
  std::vector<std::vector<Row>> joined_;
  int made_ = 0;
};

TEST(JoinedParts, GiveWhatRunsWithoutPlanGive) {
  const std::vector<float> numbers = testing::Random(RandomJoins::kWidth, 1, -9, 9);
  const Tensor x = Tensor::Of<float>(Shape{1, RandomJoins::kWidth}, numbers);
  for (unsigned seed = 0; seed < 150; ++seed) {
    const RandomJoins graph(seed);
    const Session session = graph.model().Session(InOrder()), plain = graph.model().Session(InOrder(false));
    for (const int64_t end : {64, 64, 160, 64, 37, 64}) {
      const std::vector<Value> inputs = {x, Tensor::Of<int64_t>(Shape{1}, std::span<const int64_t>(&end, 1))};
      std::vector<Value> results(3), expected(3);
      session.Run(inputs, results);
      plain.Run(inputs, expected);
      for (size_t i = 0; i < results.size(); ++i) {
        ASSERT_EQ(testing::ToVector(results[i]), testing::ToVector(expected[i]))
            << "seed " << seed << ", " << end << " columns, result " << i;
      }
    }
  }
}

/// As in DenseNet: each layer reads all before it, joined.
TEST(JoinedParts, OutputsThatBeginAlikeShareMemory) {
  constexpr int64_t kLayers = 12, kWidth = 16384;
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, kWidth}).Output("y", ElementType::kFloat, {1, kWidth});
  model.Ints("first", {0}).Ints("width", {kWidth}).Ints("axis", {1});
  std::vector<std::string> features = {"f0"};
  model.Node("Abs", {"x"}, {"f0"});
  for (int64_t i = 1; i <= kLayers; ++i) {
    const std::string n = std::to_string(i);
    testing::Int(ModelBuilder::AddNode(*model.proto().mutable_graph(), "Concat", features, {"c" + n}), "axis", 1);
    model.Node("Add", {"c" + n, "c" + n}, {"a" + n});
    model.Node("Slice", {"a" + n, "first", "width", "axis"}, {"s" + n});
    model.Node("Add", {"s" + n, features.back()}, {i == kLayers ? "y" : "f" + n});
    features.push_back("f" + n);
  }
  const Session session = model.Session(InOrder());
  const std::vector<float> ones(kWidth, 1);
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::vector<Value> results(1);
    session.Run(std::vector<Value>{Tensor::Of<float>(Shape{1, kWidth}, ones)}, results);
    EXPECT_EQ(testing::ToVector(results[0]), std::vector<float>(kWidth, 1 + 2 * kLayers));
  }
  // All features as the widest has them, and twice that: each feature by itself would be half as much again.
  EXPECT_LE(session.memory_use()[0].stats.bytes_in_use, (2 * kLayers + 2) * kWidth * static_cast<int64_t>(sizeof(float)));
}

}  // namespace
}  // namespace tessera
