#include <gmock/gmock.h>

#include <cmath>

#include "error_of.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_scale.h"
#include "ops/attention/group_query_attention.h"
#include "ops/attention/rotary_embedding.h"
#include "ops/node_of.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

Tensor Zeros(const Shape& shape) {
  return Tensor::Of<float>(shape, std::vector<float>(static_cast<size_t>(shape.num_elements())));
}

TEST(AttentionAttributes, Defaults) {
  for (const int version : {23, 24, 25}) {
    const AttentionAttributes attributes(NodeOf("Attention", version));
    EXPECT_FALSE(attributes.causal);
    EXPECT_EQ(attributes.left, -1);
    EXPECT_EQ(attributes.right, -1);
    EXPECT_EQ(attributes.softcap, 0);
    EXPECT_FALSE(attributes.scale.has_value());
    EXPECT_DOUBLE_EQ(attributes.Scale(64), 0.125);
    EXPECT_DOUBLE_EQ(attributes.Scale(0), 1);
  }
  EXPECT_DOUBLE_EQ(AttentionAttributes(NodeOf("Attention", 23, {{"scale", 0.0f}})).Scale(64), 0);
  EXPECT_EQ(AttentionScale(0, 16), 0.25f);
  EXPECT_EQ(AttentionScale(2, 16), 2);
}

TEST(AttentionAttributes, Refusals) {
  struct Case {
    Attribute attribute;
    const char* error;
  };
  const Case cases[] = {{{"q_num_heads", int64_t{-1}}, "q_num_heads is -1"},
                        {{"qk_matmul_output_mode", int64_t{4}}, "qk_matmul_output_mode is 4"},
                        {{"left_window_size", int64_t{-2}}, "below -1"},
                        {{"columns", std::vector<int64_t>{1}}, "'columns' has 1 numbers"}};
  for (const Case& one : cases) {
    const Node node = NodeOf("Attention", 25, {one.attribute});
    EXPECT_THAT(ErrorOf([&] { AttentionAttributes{node}; }), HasSubstr(one.error));
  }
}

TEST(AttentionSizes, OfThreeAndFourDimensions) {
  const HeadSizes q = ReadHeads({2, 5, 24}, 6, nullptr, "Q"), k = ReadHeads({2, 3, 7, 4}, 0, nullptr, "K"),
                  v = ReadHeads({2, 3, 7, 8}, 0, nullptr, "V");
  EXPECT_EQ(q.width, 4);
  EXPECT_EQ(q.row_stride(), 24);
  EXPECT_EQ(q.head_stride(), 4);
  EXPECT_EQ(q.batch_stride(), 120);
  EXPECT_EQ(k.row_stride(), 4);
  EXPECT_EQ(k.head_stride(), 28);
  EXPECT_EQ(k.batch_stride(), 84);
  const AttentionSizes sizes = CombineHeads(q, k, v, 10);
  EXPECT_EQ(sizes.keys, 17);
  EXPECT_EQ(sizes.kv_heads, 3);
  EXPECT_EQ(ShapeOf(ResultHeads(q, v)), Shape({2, 5, 48}));
  EXPECT_EQ(ShapeOf(ResultHeads(ReadHeads({2, 6, 5, 4}, 0, nullptr, "Q"), v)), Shape({2, 6, 5, 8}));
  EXPECT_THAT(ErrorOf([] { ReadHeads({2, 5, 24}, 0, nullptr, "Q"); }), HasSubstr("does not divide into 0 heads"));
  EXPECT_THAT(ErrorOf([] { ReadHeads({2, 5}, 1, nullptr, "V"); }), HasSubstr("3 or 4 dimensions"));
  EXPECT_THAT(ErrorOf([&] { CombineHeads(q, v, k, 0); }), HasSubstr("head size is 4 in Q and 8 in K"));
}

TEST(AttentionSizes, ColumnsOfRows) {
  const int64_t columns[] = {8, 16};
  const HeadSizes k = ReadHeads({1, 3, 24}, 2, columns, "K");
  EXPECT_EQ(k.width, 4);
  EXPECT_EQ(k.first, 8);
  EXPECT_EQ(k.row_stride(), 24);
  const int64_t outside[] = {20, 28};
  EXPECT_THAT(ErrorOf([&] { ReadHeads({1, 3, 24}, 2, outside, "K"); }), HasSubstr("without columns 20 to 28"));
}

TEST(AttentionSizes, MasksPastAndLengths) {
  const AttentionSizes sizes{2, 4, 2, 3, 5, 8, 8};
  EXPECT_EQ(ReadMask({3, 5}), (MaskDims{1, 1, 3, 5}));
  for (const MaskDims& dims : {MaskDims{1, 1, 3, 5}, MaskDims{2, 4, 1, 5}, MaskDims{1, 1, 1, 2}, MaskDims{1, 1, 1, 1}})
    CheckMask(dims, sizes, false);
  EXPECT_THAT(ErrorOf([&] { CheckMask({1, 1, 1, 2}, sizes, true); }), HasSubstr("does not broadcast"));
  EXPECT_THAT(ErrorOf([&] { CheckMask({1, 1, 2, 5}, sizes, false); }), HasSubstr("does not broadcast"));
  EXPECT_THAT(ErrorOf([] { ReadMask({1, 1, 1, 1, 1}); }), HasSubstr("1 to 4 dimensions"));
  const HeadSizes k = ReadHeads({2, 2, 5, 8}, 0, nullptr, "K");
  const Tensor past = Zeros({2, 2, 6, 8}), other = Zeros({2, 2, 6, 7});
  EXPECT_EQ(PastRows(&past, &past, k, k), 6);
  EXPECT_EQ(PastRows(nullptr, nullptr, k, k), 0);
  EXPECT_THAT(ErrorOf([&] { PastRows(&past, nullptr, k, k); }), HasSubstr("must be given together"));
  EXPECT_THAT(ErrorOf([&] { PastRows(&past, &other, k, k); }), HasSubstr("do not fit"));
  const Tensor lengths = Tensor::Of<int64_t>({2}, std::vector<int64_t>{0, 5}),
               long_ones = Tensor::Of<int64_t>({2}, std::vector<int64_t>{0, 6});
  EXPECT_EQ(KeyLengths(&lengths, sizes, false).size(), 2u);
  EXPECT_TRUE(KeyLengths(nullptr, sizes, true).empty());
  EXPECT_THAT(ErrorOf([&] { KeyLengths(&lengths, sizes, true); }), HasSubstr("cannot be combined"));
  EXPECT_THAT(ErrorOf([&] { KeyLengths(&long_ones, sizes, false); }), HasSubstr("holds 6"));
}

TEST(AttentionSizes, BroadcastAsMatMulDoes) {
  HeadSizes q = ReadHeads({1, 2, 1, 4}, 0, nullptr, "Q"), k = ReadHeads({3, 2, 5, 4}, 0, nullptr, "K"), v = k;
  BroadcastHeads({1, 1, 7, 5}, q, k, v);
  EXPECT_EQ(q.batch, 3);
  EXPECT_EQ(q.rows, 7);
  EXPECT_TRUE(q.repeats_batch && q.repeats_row);
  EXPECT_FALSE(k.repeats_batch || v.repeats_batch);
}

TEST(GroupQueryAttentionAttributes, DefaultsAndRefusals) {
  const auto node_of = [](std::vector<Attribute> more) {
    std::vector<Attribute> attributes = {{"num_heads", int64_t{8}}, {"kv_num_heads", int64_t{2}}};
    attributes.insert(attributes.end(), more.begin(), more.end());
    return NodeOf("GroupQueryAttention", 1, attributes, "com.microsoft");
  };
  const GroupQueryAttentionAttributes attributes(node_of({}));
  EXPECT_TRUE(attributes.causal);
  EXPECT_FALSE(attributes.rotary || attributes.interleaved || attributes.slides || attributes.smooth);
  EXPECT_EQ(attributes.window, -1);
  EXPECT_EQ(attributes.HeadsInQuery(true), 12);
  EXPECT_EQ(attributes.HeadsInQuery(false), 8);
  struct Case {
    std::vector<Attribute> attributes;
    const char* error;
  };
  const Case cases[] = {{{{"sliding_window_cache", int64_t{1}}}, "needs local_window_size"},
                        {{{"k_quant_type", std::string("ROWS")}}, "k_quant_type is ROWS"},
                        {{{"k_quant_type", std::string("PER_TENSOR")}}, "kv_cache_bit_width is 0"}};
  for (const Case& one : cases) {
    const Node node = node_of(one.attributes);
    EXPECT_THAT(ErrorOf([&] { GroupQueryAttentionAttributes{node}; }), HasSubstr(one.error));
  }
  EXPECT_THAT(ErrorOf([] {
                GroupQueryAttentionAttributes{
                    NodeOf("GroupQueryAttention", 1, {{"num_heads", int64_t{3}}, {"kv_num_heads", int64_t{2}}})};
              }),
              HasSubstr("num_heads is 3 and kv_num_heads 2"));
}

TEST(RotaryEmbeddingAttributes, Sizes) {
  const Tensor positions = Tensor::Of<int64_t>({1, 2}, std::vector<int64_t>{0, 6}),
               first = Tensor::Of<int64_t>({1}, std::vector<int64_t>{5});
  const RotaryEmbeddingAttributes onnx(NodeOf("RotaryEmbedding", 23, {{"num_heads", int64_t{3}}})),
      microsoft(NodeOf("RotaryEmbedding", 1, {}, "com.microsoft"));
  EXPECT_EQ(onnx.positions_input(), 3u);
  EXPECT_EQ(microsoft.positions_input(), 1u);
  const RotarySizes packed = onnx.Infer({1, 2, 24}, {7, 4}, {7, 4}, &positions);
  EXPECT_EQ(packed.heads, 3);
  EXPECT_EQ(packed.width, 8);
  EXPECT_EQ(packed.half, 4);
  EXPECT_FALSE(packed.one);
  EXPECT_EQ(onnx.Infer({1, 3, 2, 8}, {1, 2, 4}, {1, 2, 4}, nullptr).steps, 2);
  EXPECT_TRUE(microsoft.Infer({1, 2, 24}, {7, 4}, {7, 4}, &first).one);
  EXPECT_EQ(microsoft.Infer({1, 2, 24}, {7, 4}, {7, 4}, &first).heads, 3);
  EXPECT_THAT(ErrorOf([&] { onnx.Infer({1, 2, 24}, {6, 4}, {6, 4}, &positions); }), HasSubstr("position 6 is outside"));
  EXPECT_THAT(ErrorOf([&] { microsoft.Infer({1, 2, 24}, {6, 4}, {6, 4}, &first); }), HasSubstr("position 5 is outside"));
  EXPECT_THAT(ErrorOf([&] { onnx.Infer({1, 2, 24}, {7, 3}, {7, 3}, &positions); }), HasSubstr("rotate 6 elements"));
  EXPECT_THAT(ErrorOf([&] { onnx.Infer({1, 2, 25}, {7, 4}, {7, 4}, &positions); }), HasSubstr("3 heads"));
  EXPECT_THAT(
      ErrorOf([] { RotaryEmbeddingAttributes{NodeOf("RotaryEmbedding", 23, {{"rotary_embedding_dim", int64_t{3}}})}; }),
      HasSubstr("rotary_embedding_dim is 3"));
}

}  // namespace
}  // namespace tessera::testing
