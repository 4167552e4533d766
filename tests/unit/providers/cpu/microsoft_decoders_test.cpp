// What com.microsoft's decoders say of inputs that do not fit; their results are compared in tests/differential.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "one_node.h"

namespace tessera {
namespace {

using testing::Filled;
using ::testing::HasSubstr;
using testing::Numbers;
using testing::OneNode;

/// One new token of 2 heads of 8 beside 3 that are cached.
OneNode Quantized(Value past, Value scale, int64_t bits, const char* type) {
  OneNode node("GroupQueryAttention");
  node.In(Numbers({1, 1, 16})).In(Numbers({1, 1, 16})).In(Numbers({1, 1, 16})).In(past).In(past);
  node.In(Filled<int32_t>({1}, 3)).In(Filled<int32_t>({}, 4)).None(5).In(scale).In(scale).Outputs(3);
  return node.With("num_heads", 2)
      .With("kv_num_heads", 2)
      .With("kv_cache_bit_width", bits)
      .With("k_quant_type", type)
      .With("v_quant_type", type);
}

TEST(MicrosoftDecoders, QuantizedCachesSayWhatDoesNotFit) {
  const Value bytes = Filled<int8_t>({1, 2, 3, 8}, 5), halves = Filled<uint8_t>({1, 2, 3, 4}, 5), one = Numbers({1});
  EXPECT_EQ(Quantized(bytes, one, 8, "PER_TENSOR").Error(), "no error");
  EXPECT_EQ(Quantized(halves, one, 4, "PER_TENSOR").Error(), "no error");
  EXPECT_EQ(Quantized(bytes, Numbers({1, 2, 1, 8}), 8, "PER_CHANNEL").Error(), "no error");
  EXPECT_THAT(Quantized(bytes, one, 8, "PER_CHANNEL").Error(), HasSubstr("scales are [1]; 16 are expected"));
  EXPECT_THAT(Quantized(bytes, Numbers({2}), 8, "PER_TENSOR").Error(), HasSubstr("scales are [2]; 1 are expected"));
  EXPECT_THAT(Quantized(bytes, one, 4, "PER_TENSOR").Error(), HasSubstr("holds int8"));
  EXPECT_THAT(Quantized(halves, one, 8, "PER_TENSOR").Error(), HasSubstr("holds uint8"));
  EXPECT_THAT(Quantized(Numbers({1, 2, 3, 8}), one, 8, "PER_TENSOR").Error(), HasSubstr("holds float"));
  EXPECT_THAT(Quantized(bytes, one, 8, "NONE").Error(), HasSubstr("holds int8"));
  EXPECT_THAT(Quantized(bytes, one, 5, "PER_TENSOR").Error(), HasSubstr("kv_cache_bit_width is 5"));
  EXPECT_THAT(Quantized(bytes, one, 8, "PER_TOKEN").Error(), HasSubstr("k_quant_type is PER_TOKEN"));
  EXPECT_THAT(Quantized(Filled<int8_t>({1, 2, 3, 4}, 5), one, 8, "PER_TENSOR").Error(), HasSubstr("[1,2,*,8] is expected"));
}

TEST(MicrosoftDecoders, NormsOfHeadsSayWhatDoesNotFit) {
  const auto error = [](const Shape& q, const Shape& k) {
    OneNode node("GroupQueryAttention");
    node.In(Numbers({1, 1, 16}))
        .In(Numbers({1, 1, 16}))
        .In(Numbers({1, 1, 16}))
        .None(2)
        .In(Filled<int32_t>({1}, 0))
        .In(Filled<int32_t>({}, 1))
        .None(7);
    node.In(Numbers(q)).In(Numbers(k));
    return node.With("num_heads", 2).With("kv_num_heads", 2).Error();
  };
  EXPECT_EQ(error({8}, {8}), "no error");
  EXPECT_THAT(error({16}, {8}), HasSubstr("norm are [16]; [8] is expected"));
  EXPECT_THAT(error({8}, {0}), HasSubstr("norm are [0]; [8] is expected"));
}

TEST(MicrosoftDecoders, SlidingCachesSayWhatDoesNotFit) {
  const auto error = [](int64_t window, int64_t rows, int32_t length) {
    OneNode node("GroupQueryAttention");
    node.In(Numbers({1, 1, 16}))
        .In(Numbers({1, 1, 16}))
        .In(Numbers({1, 1, 16}))
        .In(Numbers({1, 2, rows, 8}))
        .In(Numbers({1, 2, rows, 8}));
    node.In(Filled<int32_t>({1}, length)).In(Filled<int32_t>({}, 30)).Outputs(3);
    return node.With("num_heads", 2)
        .With("kv_num_heads", 2)
        .With("local_window_size", window)
        .With("sliding_window_cache", 1)
        .Error();
  };
  EXPECT_EQ(error(4, 4, 29), "no error");
  EXPECT_EQ(error(4, 6, 2), "no error");
  EXPECT_THAT(error(4, 3, 29), HasSubstr("needs at least 4 rows"));
  EXPECT_THAT(error(-1, 4, 29), HasSubstr("needs local_window_size"));
  EXPECT_THAT(error(4, 4, 30), HasSubstr("seqlens_k holds 30"));
  EXPECT_THAT(error(4, 4, -1), HasSubstr("seqlens_k holds -1"));
}

/// Two sentences in two beams, 3 of 6 rows cached.
std::string BeamError(int32_t past, int32_t beams, const Shape& indirection, int32_t beam) {
  OneNode node("DecoderMaskedMultiHeadAttention");
  node.In(Numbers({4, 1, 16}))
      .In(Numbers({4, 1, 16}))
      .In(Numbers({4, 1, 16}))
      .None(2)
      .In(Numbers({4, 2, 6, 8}))
      .In(Numbers({4, 2, 6, 8}));
  node.In(Filled<int32_t>({1}, past)).In(Filled<int32_t>({1}, beams)).In(Filled<int32_t>(indirection, beam)).Outputs(3);
  return node.With("num_heads", 2).With("past_present_share_buffer", 1).Error();
}

TEST(MicrosoftDecoders, BeamsSayWhatDoesNotFit) {
  EXPECT_EQ(BeamError(3, 2, {2, 2, 6}, 1), "no error");
  EXPECT_EQ(BeamError(5, 2, {2, 2, 6}, 0), "no error");
  EXPECT_THAT(BeamError(6, 2, {2, 2, 6}, 1),
              HasSubstr("past_sequence_length is 6 with 1 new tokens in a buffer of 6 rows"));
  EXPECT_THAT(BeamError(-1, 2, {2, 2, 6}, 1), HasSubstr("past_sequence_length is -1"));
  EXPECT_THAT(BeamError(3, 2, {2, 2, 6}, 2), HasSubstr("cache_indirection holds 2; there are 2 beams"));
  EXPECT_THAT(BeamError(3, 2, {2, 2, 6}, -1), HasSubstr("cache_indirection holds -1"));
  EXPECT_THAT(BeamError(3, 2, {2, 2, 2}, 1), HasSubstr("cache_indirection is [2,2,2]"));
  EXPECT_THAT(BeamError(3, 3, {2, 2, 6}, 1), HasSubstr("beam_width is 3"));
  EXPECT_THAT(BeamError(3, 2, {1, 2, 6}, 1), HasSubstr("cache_indirection is [1,2,6]"));
}

TEST(MicrosoftDecoders, SharedBuffersNeedTheLengthOfThePast) {
  OneNode node("DecoderMaskedMultiHeadAttention");
  node.In(Numbers({1, 1, 16}))
      .In(Numbers({1, 1, 16}))
      .In(Numbers({1, 1, 16}))
      .None(2)
      .In(Numbers({1, 2, 6, 8}))
      .In(Numbers({1, 2, 6, 8}));
  EXPECT_THAT(node.With("num_heads", 2).With("past_present_share_buffer", 1).Error(),
              HasSubstr("needs past_sequence_length"));
}

/// One new token of 2 heads of 8 and a buffer of 32 rows.
OneNode Sparse(const Shape& ends, int32_t column, int32_t total, int64_t block) {
  OneNode node("SparseAttention");
  node.In(Numbers({1, 1, 16}))
      .In(Numbers({1, 1, 16}))
      .In(Numbers({1, 1, 16}))
      .In(Numbers({1, 2, 32, 8}))
      .In(Numbers({1, 2, 32, 8}));
  node.In(Filled<int32_t>(ends, 1))
      .In(Filled<int32_t>({1, 2}, column))
      .In(Filled<int32_t>({1}, total))
      .In(Filled<int32_t>({1}, total))
      .Outputs(3);
  return node.With("num_heads", 2).With("kv_num_heads", 2).With("sparse_block_size", block);
}

TEST(MicrosoftDecoders, SparseAttentionSaysWhatDoesNotFit) {
  EXPECT_EQ(Sparse({1, 3}, 0, 20, 16).Error(), "no error");
  EXPECT_EQ(Sparse({1, 3}, -7, 20, 16).Error(), "no error");  // shows nothing
  EXPECT_EQ(Sparse({1, 3}, 1 << 30, 20, 16).Error(), "no error");
  for (const OneNode& node :
       {Sparse({1, 3}, 0, 33, 16), Sparse({1, 3}, 0, -1, 16), Sparse({1, 3}, 0, 20, 0), Sparse({1, 2}, 0, 20, 16),
        Sparse({3, 3}, 0, 20, 16), Sparse({0, 3}, 0, 20, 16), Sparse({3}, 0, 20, 16), Sparse({1, 0}, 0, 20, 16)}) {
    EXPECT_NE(node.Error(), "no error");
  }
}

TEST(MicrosoftDecoders, PositionsInImagesSayWhatDoesNotFit) {
  const auto error = [](std::vector<int64_t> sections, const Shape& positions, int64_t position, int64_t layout = 0) {
    OneNode node("MRotaryEmbedding");
    node.In(Numbers({1, 2, 16})).In(Filled<int64_t>(positions, position)).In(Numbers({5, 8})).In(Numbers({5, 8}));
    return node.With("mrope_section", std::move(sections)).With("mrope_layout", layout).Error();
  };
  EXPECT_EQ(error({4, 2, 2}, {3, 1, 2}, 4), "no error");
  EXPECT_EQ(error({0, 0, 8}, {3, 1, 2}, 4, 1), "no error");
  EXPECT_THAT(error({4, 2, 2}, {3, 1, 2}, 5), HasSubstr("position 5 is outside"));
  EXPECT_THAT(error({4, 2, 2}, {3, 1, 2}, -1), HasSubstr("position -1 is outside"));
  EXPECT_THAT(error({4, 2, 2}, {1, 2}, 0), HasSubstr("[3,1,2] is expected"));
  EXPECT_THAT(error({4, 2, 1}, {3, 1, 2}, 0), HasSubstr("sums up to 7"));
  EXPECT_THAT(error({4, -2, 6}, {3, 1, 2}, 0), HasSubstr("mrope_section holds -2"));
  EXPECT_THAT(error({8}, {3, 1, 2}, 0), HasSubstr("mrope_section has 1"));
  EXPECT_THAT(error({4, 2, 2}, {3, 1, 2}, 0, 2), HasSubstr("mrope_layout is 2"));
}

TEST(MicrosoftDecoders, FormsOfRecurrentStatesThatAreNotSupportedAreErrors) {
  OneNode conv("CausalConvWithState");
  conv.In(Numbers({1, 2, 5})).In(Numbers({2, 1, 3})).Outputs(2);
  EXPECT_EQ(conv.Error(), "no error");
  EXPECT_THAT(OneNode(conv).With("dilation", 2).Error(), HasSubstr("dilation is 2"));
  EXPECT_THAT(OneNode(conv).With("channels_last", 1).Error(), HasSubstr("channels_last is 1"));
  EXPECT_THAT(OneNode(conv).With("state_window", 3).Error(), HasSubstr("state_window is 3"));
  OneNode attention("LinearAttention");
  attention.In(Numbers({1, 2, 4})).In(Numbers({1, 2, 4})).In(Numbers({1, 2, 4})).Outputs(2);
  attention.With("q_num_heads", 1).With("kv_num_heads", 1).With("update_rule", "linear");
  EXPECT_EQ(attention.Error(), "no error");
  EXPECT_THAT(OneNode(attention).With("state_window", 2).Error(), HasSubstr("state_window"));
}

}  // namespace
}  // namespace tessera
