#include "ops/attention/group_query_attention.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "tessera/provider/attributes.h"

namespace tessera {
namespace {

GroupQueryAttentionAttributes::Quantization QuantizationOf(const Node& node, const char* attribute) {
  const auto type = AttributeOr<std::string>(node, attribute, "NONE");
  Require(type.empty() || type == "NONE" || type == "PER_TENSOR" || type == "PER_CHANNEL",
          "{} is {}; NONE, PER_TENSOR and PER_CHANNEL are known", attribute, type);
  return {type.starts_with("PER_"), type == "PER_CHANNEL"};
}

bool Has(const std::vector<ValueIndex>& values, size_t i) { return i < values.size() && values[i] != kNone; }

}  // namespace

GroupQueryAttentionAttributes::GroupQueryAttentionAttributes(const Node& node)
    : heads(AttributeOr<int64_t>(node, "num_heads", 0)),
      kv_heads(AttributeOr<int64_t>(node, "kv_num_heads", 0)),
      window(AttributeOr<int64_t>(node, "local_window_size", -1)),
      causal(AttributeOr<int64_t>(node, "causal", 1) != 0),
      rotary(AttributeOr<int64_t>(node, "do_rotary", 0) != 0),
      interleaved(AttributeOr<int64_t>(node, "rotary_interleaved", 0) != 0),
      smooth(AttributeOr<int64_t>(node, "smooth_softmax", 0) == 1),
      slides(AttributeOr<int64_t>(node, "sliding_window_cache", 0) != 0),
      capture(AttributeOr<int64_t>(node, "qk_output", 0)),
      scale(AttributeOr<float>(node, "scale", 0.0f)),
      softcap(AttributeOr<float>(node, "softcap", 0.0f)),
      norm_epsilon(AttributeOr<float>(node, "qk_norm_epsilon", 1e-6f)),
      keys(QuantizationOf(node, "k_quant_type")),
      values(QuantizationOf(node, "v_quant_type")),
      bits(AttributeOr<int64_t>(node, "kv_cache_bit_width", 0)) {
  Require(heads > 0 && kv_heads > 0 && heads % kv_heads == 0, "num_heads is {} and kv_num_heads {}", heads, kv_heads);
  Require(!slides || window > 0, "sliding_window_cache needs local_window_size");
  Require(!slides || !Has(node.outputs, 3), "output_qk is not supported with sliding_window_cache");
  Require(!(keys.exists || values.exists) || bits == 4 || bits == 8,
          "kv_cache_bit_width is {}; quantized caches have 4 or 8", bits);
  Require(Has(node.inputs, 14) == Has(node.inputs, 15), "q_norm_weight and k_norm_weight must be given together");
  Require(!Has(node.outputs, 3) || capture == 1 || capture == 2, "qk_output is {}; output_qk has 1 and 2", capture);
}

GroupQuerySizes::GroupQuerySizes(const GroupQueryAttentionAttributes& attributes, const KernelContext& context)
    : packed(context.input(1) == nullptr), slides_(attributes.slides) {
  const Shape& query = context.required_input(0).shape();
  Require(query.rank() == 3, "the query is {}; 3 dimensions are expected", query);
  const int64_t in_query = attributes.HeadsInQuery(packed);
  Require(query[2] % in_query == 0, "the query is {}, which does not divide into {} heads", query, in_query);
  batch = query[0];
  steps = query[1];
  width = query[2] / in_query;
  if (packed) {
    Require(context.input(2) == nullptr, "a value is given without a key");
  } else {
    const Shape &key = context.required_input(1).shape(), &value = context.required_input(2).shape();
    const Shape expected{batch, steps, attributes.kv_heads * width};
    Require(key == expected && value == expected, "key and value are {} and {}; {} is expected", key, value, expected);
  }
  const Tensor &lengths = context.required_input(5), &total_input = context.required_input(6);
  Require(total_input.num_elements() == 1 && total_input.is(ElementType::kInt32),
          "total_sequence_length is {}; a scalar is expected", total_input.shape());
  Require(lengths.num_elements() == batch && lengths.is(ElementType::kInt32), "seqlens_k has {} elements, the batch {}",
          lengths.num_elements(), batch);
  lengths_ = lengths.data<int32_t>();
  total_length = *total_input.data<int32_t>();
  Require(total_length >= steps, "total_sequence_length is {} with {} new tokens", total_length, steps);
  is_prompt = total_length == steps;
  const Tensor* past = context.input(3);
  Require((past == nullptr) == (context.input(4) == nullptr), "past_key and past_value must be given together");
  held = past == nullptr || past->shape().rank() != 4 ? 0 : past->shape()[2];
  Require(!slides_ || held >= attributes.window, "the past is {}; sliding_window_cache needs at least {} rows",
          OptionalShape{past}, attributes.window);
  for (int64_t sentence = 0; sentence < batch; ++sentence) Total(sentence);
  Require(slides_ || total_length <= held + steps, "total_sequence_length is {} with {} new tokens and a past of {} rows",
          total_length, steps, held);
  capacity = slides_ ? held : std::max(held, total_length);
}

int64_t GroupQuerySizes::Total(int64_t sentence) const {
  const int64_t tokens = int64_t{lengths_[sentence]} + 1, before = is_prompt ? 0 : tokens - steps;
  Require(tokens >= 1 && tokens <= total_length && before >= 0 && (slides_ || before <= held),
          "seqlens_k holds {} for {} new tokens, a total of {} and a past of {} rows", tokens - 1, steps, total_length,
          held);
  return tokens;
}

RotaryCacheSizes::RotaryCacheSizes(const Shape& cosine, const Shape& sine, int64_t width) {
  Require(cosine.rank() == 2 && cosine == sine && 2 * cosine[1] <= width,
          "cos_cache is {} and sin_cache {} for heads of {}", cosine, sine, width);
  positions = cosine[0];
  half = cosine[1];
}

int64_t TokenPosition(const GroupQuerySizes& sizes, const Tensor* position_ids, const RotaryCacheSizes& caches,
                      int64_t sentence, int64_t step) {
  const int64_t position =
      position_ids != nullptr ? position_ids->data<int64_t>()[sentence * sizes.steps + step] : sizes.Past(sentence) + step;
  Require(position >= 0 && position < caches.positions, "position {} is outside the caches' {} rows", position,
          caches.positions);
  return position;
}

void CheckPositionIds(const GroupQuerySizes& sizes, const Tensor* position_ids) {
  Require(position_ids == nullptr ||
              (position_ids->is(ElementType::kInt64) && position_ids->num_elements() == sizes.batch * sizes.steps),
          "position_ids is {}; [{},{}] is expected", OptionalShape{position_ids}, sizes.batch, sizes.steps);
}

}  // namespace tessera
