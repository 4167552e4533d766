#pragma once

// What scaled dot-product attention is asked for.

#include <cstdint>

#include "ops/attention/attention.h"

namespace tessera::cpu {

/// Where batch, head and row of a [batch, head, row, element] tensor are, in whatever order it is stored.
template <class C>
struct Heads {
  C* data = nullptr;
  int64_t batch = 0;
  int64_t head = 0;
  int64_t row = 0;
  C* at(int64_t b, int64_t h) const { return data + b * batch + h * head; }
};

/// Additive bias; a stride of 0 broadcasts. Keys past `keys` are masked.
template <class C>
struct AttentionBias {
  const C* data = nullptr;
  int64_t batch = 0;
  int64_t head = 0;
  int64_t row = 0;
  int64_t keys = 0;
};

/// Which keys query i of batch b may see: [i + offset - left, i + offset + right], below `keys`.
struct AttentionRange {
  int64_t offset = 0;                // for every batch, or
  const int64_t* lengths = nullptr;  // valid keys by batch: offset is lengths[b] - queries
  bool causal = false;
  int64_t left = -1;
  int64_t right = -1;
};

enum class CaptureStage : int8_t { kNone = -1, kMatMul = 0, kSoftcap = 1, kBias = 2, kSoftmax = 3 };

template <class C>
struct AttentionProblem {
  AttentionSizes sizes;
  Heads<const C> q, k, v;
  Heads<C> y;
  C scale = 1;
  C softcap = 0;
  AttentionBias<C> bias;
  AttentionRange range;
  const C* sinks = nullptr;  // by head: a score that takes part in the softmax without a value
  CaptureStage capture = CaptureStage::kNone;
  C* captured = nullptr;  // [batch, head, query, key]
  bool nan_rows = false;  // results of a row of which the mask leaves nothing are NaN, not 0
  bool rounds = false;    // operands of matmuls may be rounded to bfloat16, by a processor that has the instructions
};

}  // namespace tessera::cpu
