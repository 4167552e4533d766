#pragma once

// What com.microsoft's attentions share: masks as biases.

#include <algorithm>

#include "base/check.h"
#include "base/checked.h"
#include "cpu/ops/attention/real_tensor.h"
#include "cpu/ops/attention/scaled_dot_product.h"
#include "cpu/ops/microsoft/kv_cache.h"

namespace tessera::cpu {

/// Which keys a mask_index or key_padding_mask of any of its forms shows.
class KeyMask {
 public:
  KeyMask(const Tensor* mask, const AttentionSizes& sizes, int64_t past) : sizes_(sizes), past_(past) {
    if (mask == nullptr) return;
    const Shape& shape = mask->shape();
    data_ = mask->data<int32_t>();
    rank_ = shape.rank();
    const int64_t keys = sizes.keys;
    bool fits = false;
    if (rank_ == 1) {
      fits = shape[0] == sizes.batch || shape[0] == 2 * sizes.batch || shape[0] == 3 * sizes.batch + 2;
      has_starts_ = shape[0] == 2 * sizes.batch;
    } else if (rank_ == 2) {
      fits = shape[0] == sizes.batch && shape[1] == keys;
    } else if (rank_ == 3) {
      fits = shape[0] == sizes.batch && shape[1] == sizes.queries && shape[2] == keys;
    } else if (rank_ == 4) {
      fits = shape[0] == sizes.batch && shape[1] == 1 && shape[2] == shape[3] && shape[3] >= keys;
      width_ = shape[3];
    }
    Require(fits, "the mask is {} for a batch of {}, {} queries and {} keys", shape, sizes.batch, sizes.queries, keys);
  }

  bool exists() const { return data_ != nullptr; }
  /// Whether all queries of a sentence see the same keys.
  bool same_for_queries() const { return rank_ <= 2; }

  bool Shows(int64_t b, int64_t query, int64_t key) const {
    switch (rank_) {
      case 1: return key < data_[b] && !(has_starts_ && key < data_[sizes_.batch + b]);
      case 2: return data_[b * sizes_.keys + key] > 0;
      case 3: return data_[(b * sizes_.queries + query) * sizes_.keys + key] > 0;
      default: return data_[(b * width_ + past_ + query) * width_ + key] > 0;
    }
  }

 private:
  const AttentionSizes& sizes_;
  int64_t past_;
  const int32_t* data_ = nullptr;
  size_t rank_ = 0;
  bool has_starts_ = false;
  int64_t width_ = 0;
};

/// A bias [batch or 1, heads or 1, queries, keys or more].
inline AttentionBias<float> FitBias(KernelContext& context, const Tensor* tensor, const AttentionSizes& sizes) {
  AttentionBias<float> bias;
  if (tensor == nullptr) return bias;
  const Shape& s = tensor->shape();
  Require(s.rank() == 4 && (s[0] == 1 || s[0] == sizes.batch) && (s[1] == 1 || s[1] == sizes.query_heads) &&
              s[2] == sizes.queries && s[3] >= sizes.keys,
          "attention_bias is {}; [{} or 1,{} or 1,{},{}] is expected", s, sizes.batch, sizes.query_heads, sizes.queries,
          sizes.keys);
  bias.data = RealView<float>(context, *tensor);
  bias.row = s[3];
  bias.head = s[1] == 1 ? 0 : s[2] * s[3];
  bias.batch = s[0] == 1 ? 0 : s[1] * s[2] * s[3];
  bias.keys = s[3];
  return bias;
}

/// The sum of the mask, `filter` for hidden keys, and the bias.
inline AttentionBias<float> MaskAndBias(KernelContext& context, const KeyMask& mask, float filter, const Tensor* tensor,
                                        const AttentionSizes& s) {
  const AttentionBias<float> given = FitBias(context, tensor, s);
  if (!mask.exists()) return given;
  const int64_t heads = given.head == 0 ? 1 : s.query_heads;
  const int64_t rows = given.data == nullptr && mask.same_for_queries() ? 1 : s.queries;
  const int64_t total = CheckedMul(CheckedMul(s.batch * heads, rows), s.keys);
  float* out = context.scratch<float>(static_cast<size_t>(total)).data();
  context.threads().ParallelFor(s.batch * heads * rows, static_cast<double>(s.keys) * 1.5, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / rows / heads, h = i / rows % heads, row = i % rows;
      const float* from = given.data == nullptr ? nullptr : given.data + b * given.batch + h * given.head + row * given.row;
      for (int64_t k = 0; k < s.keys; ++k) {
        out[i * s.keys + k] = (mask.Shows(b, row, k) ? 0.0f : filter) + (from == nullptr ? 0.0f : from[k]);
      }
    }
  });
  return {out, heads * rows * s.keys, heads == 1 ? 0 : rows * s.keys, rows == 1 ? 0 : s.keys, s.keys};
}

}  // namespace tessera::cpu
