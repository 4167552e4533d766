// What operators around text generation say of inputs that do not fit; their results are compared in tests/differential.

#include <gmock/gmock.h>

#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "one_node.h"

namespace tessera {
namespace {

using testing::Filled;
using ::testing::HasSubstr;
using testing::Numbers;
using testing::OneNode;

TEST(Generation, RepeatedNGramsSayWhatDoesNotFit) {
  const auto error = [](Value ids, Value scores, int64_t size) {
    return OneNode("NGramRepeatBlock").In(std::move(ids)).In(std::move(scores)).With("ngram_size", size).Error();
  };
  const auto ids = [](int64_t token) { return Filled<int64_t>({2, 3}, token); };
  EXPECT_EQ(error(ids(4), Numbers({2, 5}), 2), "no error");
  EXPECT_EQ(error(ids(-1), Numbers({2, 5}), 4), "no error");  // none is blocked
  EXPECT_EQ(error(Filled<int64_t>({0, 3}, 0), Numbers({0, 5}), 1), "no error");
  EXPECT_EQ(error(ids(0), Numbers({2, 5}), std::numeric_limits<int64_t>::max()), "no error");
  EXPECT_THAT(error(ids(5), Numbers({2, 5}), 2), HasSubstr("token 5 is outside the vocabulary of 5"));
  EXPECT_THAT(error(ids(-1), Numbers({2, 5}), 1), HasSubstr("token -1 is outside"));
  EXPECT_THAT(error(ids(1), Numbers({3, 5}), 2), HasSubstr("[2,3] and [3,5]"));
  EXPECT_THAT(error(Filled<int64_t>({3}, 0), Numbers({3, 5}), 2), HasSubstr("[3] and [3,5]"));
  EXPECT_THAT(error(ids(1), Numbers({2, 5}), 0), HasSubstr("ngram_size is 0"));
}

TEST(Generation, BifurcationsSayWhatDoesNotFit) {
  const auto error = [](const Shape& source, int64_t previous, const Shape& predicted, int64_t least = 1,
                        int64_t most = 3) {
    OneNode node("BifurcationDetector");
    node.In(Filled<int64_t>(source, 1))
        .In(Filled<int64_t>({2}, 1))
        .In(Filled<int64_t>({1}, previous))
        .In(Filled<int64_t>(predicted, 1));
    return node.With("min_ngram_size", least).With("max_ngram_size", most).Outputs(2).Error();
  };
  EXPECT_EQ(error({3}, 1, {3}), "no error");
  EXPECT_EQ(error({0}, 0, {1}), "no error");
  EXPECT_EQ(error({3}, 1, {3}, 5, std::numeric_limits<int64_t>::max()), "no error");
  EXPECT_THAT(error({3}, 4, {0}), HasSubstr("prev_suffix_match_idx is 4; the source has 3 tokens"));
  EXPECT_THAT(error({3}, -1, {5}), HasSubstr("prev_suffix_match_idx is -1"));
  EXPECT_THAT(error({3}, 1, {2}), HasSubstr("pred_tokens has 2 tokens; 3 are expected"));
  EXPECT_THAT(error({1, 3}, 0, {4}), HasSubstr("src_tokens is [1,3]"));
  EXPECT_THAT(error({3}, 1, {3}, 0, 3), HasSubstr("n-grams of 0 to 3"));
  EXPECT_THAT(error({3}, 1, {3}, 2, 1), HasSubstr("n-grams of 2 to 1"));
}

TEST(Generation, WarpingSaysWhatDoesNotFit) {
  const auto error = [](Value costs) { return OneNode("DynamicTimeWarping").In(std::move(costs)).Error(); };
  EXPECT_EQ(error(Numbers({0, 4})), "no error");
  EXPECT_EQ(error(Numbers({4, 0})), "no error");
  EXPECT_EQ(error(Filled<float>({3, 3}, std::numeric_limits<float>::quiet_NaN())), "no error");
  EXPECT_THAT(error(Numbers({2, 3, 4})), HasSubstr("the input is [2,3,4]"));
  EXPECT_THAT(error(Numbers({4})), HasSubstr("the input is [4]"));
}

TEST(Generation, WordEmbeddingsSayWhatDoesNotFit) {
  struct Case {
    Shape filters = {5, 1, 2, 3};
    Shape bias = {5};
    Shape table = {9, 3};
    int32_t character = 8;
  };
  const auto error = [](const Case& c, const char* attribute = "embedding_size", int64_t value = -1) {
    OneNode node("WordConvEmbedding");
    node.In(Filled<int32_t>({2, 4}, c.character)).In(Numbers(c.filters)).In(Numbers(c.bias)).In(Numbers(c.table));
    return node.With(attribute, value).Error();
  };
  EXPECT_EQ(error({}), "no error");
  EXPECT_EQ(error({.character = 0}), "no error");
  EXPECT_THAT(error({.character = 9}), HasSubstr("character 9 is outside the table of 9"));
  EXPECT_THAT(error({.character = -1}), HasSubstr("character -1 is outside"));
  EXPECT_THAT(error({.filters = {5, 1, 6, 3}}), HasSubstr("a window of 6 characters does not fit into words of 4"));
  EXPECT_THAT(error({.filters = {5, 1, 0, 3}}), HasSubstr("a window of 0"));
  EXPECT_THAT(error({.filters = {5, 2, 3}}), HasSubstr("W, B and C are [5,2,3]"));
  EXPECT_THAT(error({.bias = {4}}), HasSubstr("W, B and C are [5,1,2,3], [4]"));
  EXPECT_THAT(error({.table = {9, 4}}), HasSubstr("W, B and C"));
  EXPECT_THAT(error({}, "embedding_size", 4), HasSubstr("embedding_size is 4"));
  EXPECT_THAT(error({}, "conv_window_size", 3), HasSubstr("conv_window_size is 3"));
  EXPECT_THAT(error({}, "char_embedding_size", 2), HasSubstr("char_embedding_size is 2"));
}

TEST(Generation, EmptyWordsHaveVectorsOfZeros) {
  testing::ModelBuilder model(17);
  model.Input("s", ElementType::kInt32, {2, 3}).Output("y", ElementType::kFloat, {2, 1});
  model.Floats("w", {1, 1, 1, 1}, {1}).Floats("b", {1}, {100}).Floats("c", {2, 1}, {0, 1});
  model.Node("WordConvEmbedding", {"s", "w", "b", "c"}, {"y"}).set_domain("com.microsoft");
  const std::vector<std::string> names = {"s"};
  const std::vector<Value> inputs = {Tensor::Of<int32_t>({2, 3}, std::vector<int32_t>{0, 1, 1, 1, 0, 0})};
  EXPECT_THAT(testing::ToVector(model.Session().Run(names, inputs)[0]), ::testing::ElementsAre(0, 1));
}

TEST(Generation, SlicesThatDoNotFitAreRefused) {
  const auto error = [](int64_t dim, int64_t size, int64_t step) {
    return OneNode("UnfoldTensor").In(Numbers({2, 5})).With("dim", dim).With("size", size).With("step", step).Error();
  };
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(error(-1, 5, kMost), "no error");
  EXPECT_EQ(error(0, 2, kMost), "no error");
  EXPECT_THAT(error(1, 6, 1), HasSubstr("slices of 6 do not fit into dimension 1 of [2,5]"));
  EXPECT_THAT(error(2, 1, 1), HasSubstr("axis 2 is outside"));
  EXPECT_THAT(error(0, 0, 1), HasSubstr("size and step are 0 and 1"));
  EXPECT_THAT(error(0, 1, -1), HasSubstr("size and step are 1 and -1"));
}

/// Two sequences of two tokens, n-grams of two and three tokens and one head for each.
OneNode Hashes(bool packed, std::vector<int32_t> borders = {0, 2, 4}) {
  OneNode node(packed ? "VarlenNGramHashMapping" : "NGramHashMapping");
  node.In(Filled<int64_t>(packed ? Shape{4} : Shape{2, 2}, 7)).In(Filled<int64_t>({3}, 5)).In(Filled<int64_t>({2}, 11));
  const auto count = static_cast<int64_t>(borders.size());
  if (packed) node.In(Tensor::Of<int32_t>(Shape{count}, std::span<const int32_t>(borders)));
  return std::move(node.With("max_ngram_size", 3).With("n_head_per_ngram", 1).With("pad_id", int64_t{0}));
}

TEST(Generation, HashesSayWhatDoesNotFit) {
  for (const bool packed : {false, true}) {
    EXPECT_EQ(Hashes(packed).Error(), "no error");
    EXPECT_THAT(Hashes(packed).In(Filled<int64_t>({2, 3}, 0)).Error(), HasSubstr("past_ids is [2,3]; [2,2] is expected"));
    EXPECT_THAT(Hashes(packed).None().In(Filled<int64_t>({3}, 0)).Error(),
                HasSubstr("head_offsets is [3]; [2] is expected"));
    EXPECT_THAT(Hashes(packed).None(2).In(Filled<int64_t>({2}, 0)).Error(), HasSubstr("eos_token_id is [2]"));
    EXPECT_THAT(Hashes(packed).None(3).In(Filled<int32_t>({3}, 0)).Error(), HasSubstr("segment_ids is [3]"));
  }
  const auto error = [](int64_t size, int64_t heads, int64_t pad, int64_t multipliers, int64_t vocabulary) {
    OneNode node("NGramHashMapping");
    node.In(Filled<int32_t>({2, 2}, 7))
        .In(Filled<int32_t>({multipliers}, 5))
        .In(Filled<int32_t>({2}, static_cast<int32_t>(vocabulary)));
    return node.With("max_ngram_size", size).With("n_head_per_ngram", heads).With("pad_id", pad).Error();
  };
  EXPECT_EQ(error(3, 1, 0, 4, 11), "no error");
  EXPECT_THAT(error(1, 1, 0, 3, 11), HasSubstr("max_ngram_size and n_head_per_ngram are 1 and 1"));
  EXPECT_THAT(error(3, 0, 0, 3, 11), HasSubstr("are 3 and 0"));
  EXPECT_THAT(error(std::numeric_limits<int64_t>::max(), 3, 0, 3, 11), HasSubstr("size overflows"));
  EXPECT_THAT(error(3, 1, int64_t{1} << 31, 3, 11), HasSubstr("pad_id is 2147483648"));
  EXPECT_THAT(error(3, 1, 0, 2, 11), HasSubstr("multipliers is [2]; [3] is expected at least"));
  EXPECT_THAT(error(3, 2, 0, 3, 11), HasSubstr("vocab_sizes is [2]; [4] is expected"));
  EXPECT_THAT(error(3, 1, 0, 3, 0), HasSubstr("a vocabulary has 0 entries"));
}

TEST(Generation, PackedSequencesSayWhatDoesNotFit) {
  EXPECT_THAT(Hashes(true, {0, 2, 3}).Error(), HasSubstr("sequences go from 0 to 3; 0 to 4 is expected"));
  EXPECT_THAT(Hashes(true, {1, 2, 4}).Error(), HasSubstr("sequences go from 1 to 4"));
  EXPECT_THAT(Hashes(true, {0, 5, 4}).Error(), HasSubstr("sequence 1 goes from 5 to 4"));
  EXPECT_THAT(Hashes(true, {0, -1, 4}).Error(), HasSubstr("sequence 0 goes from 0 to -1"));
  EXPECT_THAT(Hashes(true, {0}).Error(), HasSubstr("[4] and [1]"));
  EXPECT_THAT(Hashes(true).With("state_update_capacity", 2).Error(),
              HasSubstr("state_update_capacity is 2, capture_count is left out"));
  EXPECT_THAT(Hashes(true).With("state_update_capacity", 9).Error(), HasSubstr("state_update_capacity is 9; 0 to 8"));
  EXPECT_THAT(Hashes(true).None(5).In(Filled<int32_t>({2}, 1)).Error(),
              HasSubstr("state_update_capacity is 0, capture_count is given"));
  EXPECT_THAT(Hashes(true).None(4).In(Filled<int32_t>({2, 2}, 1)).Error(), HasSubstr("without segment_ids"));
  EXPECT_THAT(Hashes(true).Outputs(3).Error(), HasSubstr("without segment_ids"));
  EXPECT_EQ(Hashes(true).None(3).In(Filled<int32_t>({4}, 1)).Outputs(3).Error(), "no error");
}

}  // namespace
}  // namespace tessera
