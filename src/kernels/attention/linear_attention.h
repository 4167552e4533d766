#pragma once

// The recurrence of linear attention over a block of value columns of one head.

#include <cstdint>

namespace tessera::cpu {

/// Columns of the state that are walked together.
inline constexpr int64_t kLinearAttentionColumns = 32;

/// For every step: state = decay * state; v = beta * (v - k state), when there is a beta; state += k v; out = scale * q
/// state.
struct LinearAttentionBlock {
  int64_t steps;
  int64_t width;    // of keys and queries: rows of the state
  int64_t columns;  // at most kLinearAttentionColumns
  int64_t group;    // query heads that read this state, `width` apart
  float scale;
  const float* q;
  const float* k;
  const float* v;
  const float* decay;  // multipliers, one a step or one a row of the state; null: none
  const float* beta;   // null: none
  float* out;
  int64_t q_step, k_step, v_step, decay_step, beta_step, out_step;  // from one step to the next
  int64_t decay_row;                                                // 0 or 1
  int64_t out_head;                                                 // from one query head to the next
  float* state;                                                     // width rows of kLinearAttentionColumns
};

void RunLinearAttention(const LinearAttentionBlock& block);

}  // namespace tessera::cpu
