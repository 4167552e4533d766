// What sessions keep counts against "session.load_memory_limit".

#include <gmock/gmock.h>

#include <numeric>
#include <vector>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::Floats;
using ::testing::HasSubstr;
using testing::Int;
using testing::Ints;
using testing::ModelBuilder;
using testing::Text;

/// Columns far to the right are no memory of the session.
TEST(LoadMemory, OfColumnsFollowsThoseThatCount) {
  ModelBuilder model;
  model.Input("a", ElementType::kInt64, {-1}).Output("y", ElementType::kFloat, {-1});
  auto& node = model.Node("TfIdfVectorizer", {"a"}, {"y"});
  Text(node, "mode", "TFIDF");
  for (const char* name : {"min_gram_length", "max_gram_length"}) Int(node, name, 1);
  Int(node, "max_skip_count", 0);
  Ints(node, "ngram_counts", {0});
  Ints(node, "ngram_indexes", {3, 6'000'000, 3});
  Ints(node, "pool_int64s", {5, 6, 7});
  Floats(node, "weights", {1, 10, 100});
  SessionOptions options;
  options.config["session.load_memory_limit"] = "1M";
  std::vector<Value> results(1);
  const std::vector<Value> inputs = {Tensor::Of<int64_t>(Shape{5}, std::vector<int64_t>{5, 6, 6, 7, 8})};
  model.Session(options).Run(inputs, results);
  const auto counts = results[0].tensor().values<float>();
  ASSERT_EQ(counts.size(), 6'000'001u);
  EXPECT_EQ(counts[3], 200);  // two, by the last weight of their column
  EXPECT_EQ(counts[6'000'000], 20);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0.0), 220);
}

TEST(LoadMemory, OfPackedWeightsCounts) {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, {-1, 400}).Output("y", ElementType::kFloat, {-1, 400});
  model.Floats("w", {400, 400}, std::vector<float>(160'000, 1));
  model.Node("MatMul", {"a", "w"}, {"y"});
  SessionOptions options;
  options.config["session.load_memory_limit"] = "300k";
  EXPECT_THAT(ErrorOf([&] { model.Session(options); }), HasSubstr("session.load_memory_limit exceeded"));
  options.config["session.load_memory_limit"] = "8M";
  EXPECT_EQ(ErrorOf([&] { model.Session(options); }), "no error");
}

}  // namespace
}  // namespace tessera
