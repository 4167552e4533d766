#pragma once

// com.microsoft GroupQueryAttention (1): attributes, and the sizes of one call.

#include <cstdint>

#include "tessera/provider/kernel.h"

namespace tessera {

struct GroupQueryAttentionAttributes {
  explicit GroupQueryAttentionAttributes(const Node& node);

  /// Heads that the query's rows consist of: keys' and values' too where these are packed with it.
  int64_t HeadsInQuery(bool packed) const { return packed ? heads + 2 * kv_heads : heads; }

  /// How a cache is quantized.
  struct Quantization {
    bool exists = false, by_channel = false;
  };

  int64_t heads, kv_heads;
  int64_t window;  // keys up to its own that a query sees; not positive: all
  bool causal, rotary, interleaved;
  bool smooth;      // a score of 0 takes part in the softmax without a value
  bool slides;      // the cache holds no more than the window
  int64_t capture;  // qk_output: at which stage output 3 has the scores
  float scale, softcap, norm_epsilon;
  Quantization keys, values;
  int64_t bits;  // of quantized caches
};

/// The sizes of one call. A query of `steps` tokens comes after a past of which the cache has `held` rows.
struct GroupQuerySizes {
  /// From the inputs, of which seqlens_k and total_sequence_length are in host memory. Throws Error where shapes do not
  /// fit.
  GroupQuerySizes(const GroupQueryAttentionAttributes& attributes, const KernelContext& context);

  /// Tokens of a sentence after the call. Throws Error where seqlens_k does not fit.
  int64_t Total(int64_t sentence) const;
  /// Those of them before the call.
  int64_t Past(int64_t sentence) const { return is_prompt ? 0 : Total(sentence) - steps; }

  int64_t batch, steps, width;
  int64_t held, total_length, capacity;
  bool packed;     // keys and values lie behind queries in the query's rows
  bool is_prompt;  // there is no past

 private:
  const int32_t* lengths_;  // seqlens_k: one less than the tokens of each sentence
  bool slides_;
};

/// Rows and half the rotated elements of cos_cache, which sin_cache must have, too.
struct RotaryCacheSizes {
  RotaryCacheSizes(const Shape& cosine, const Shape& sine, int64_t width);
  int64_t positions, half;
};

/// Where token `step` of `sentence` stands. Throws Error where the caches have no such row.
int64_t TokenPosition(const GroupQuerySizes& sizes, const Tensor* position_ids, const RotaryCacheSizes& caches,
                      int64_t sentence, int64_t step);
/// position_ids has one for each token, where it is given.
void CheckPositionIds(const GroupQuerySizes& sizes, const Tensor* position_ids);

}  // namespace tessera
