#pragma once

// What LinearAttention takes, on any provider.

#include <algorithm>
#include <string>

#include "base/check.h"
#include "ops/attention/attention_scale.h"
#include "tessera/provider/attributes.h"
#include "tessera/value.h"

namespace tessera {

struct LinearAttentionSizes {
  int64_t batch, steps, heads, width, value_width;  // heads: of keys and values
};

struct LinearAttentionAttributes {
  explicit LinearAttentionAttributes(const Node& node)
      : q_heads(AttributeOr<int64_t>(node, "q_num_heads", 0)),
        kv_heads(AttributeOr<int64_t>(node, "kv_num_heads", 0)),
        out_heads(std::max(q_heads, kv_heads)),
        scale(AttributeOr<float>(node, "scale", 0.0f)) {
    Require(q_heads > 0 && kv_heads > 0, "q_num_heads is {} and kv_num_heads {}", q_heads, kv_heads);
    // com.microsoft's queries may also be for several keys each.
    const bool fits = q_heads % kv_heads == 0 || (kv_heads % q_heads == 0 && !node.domain.empty());
    Require(fits, "{} query heads are no positive multiple of {} key heads", q_heads, kv_heads);
    Require(AttributeOr<int64_t>(node, "state_window", 0) == 0, "states of several steps (state_window) are not supported");
    const auto rule = AttributeOr<std::string>(node, "update_rule", "gated_delta");
    gated = rule == "gated" || rule == "gated_delta";
    delta = rule == "delta" || rule == "gated_delta";
    Require(gated || delta || rule == "linear", "update_rule is '{}'; linear, gated, delta and gated_delta are known",
            rule);
    const auto has_input = [&](size_t i) { return i < node.inputs.size() && node.inputs[i] != kNone; };
    Require(has_input(4) == gated, "update_rule '{}' {} decay", rule, gated ? "needs" : "has no");
    Require(has_input(5) == delta, "update_rule '{}' {} beta", rule, delta ? "needs" : "has no");
  }

  LinearAttentionSizes Infer(const Shape& q, const Shape& k, const Shape& v, const Tensor* past) const {
    Require(q.rank() == 3 && k.rank() == 3 && v.rank() == 3, "query is {}, key {} and value {}; all need 3 dimensions", q,
            k, v);
    Require(q[2] % q_heads == 0 && k[2] % kv_heads == 0 && v[2] % kv_heads == 0,
            "query {}, key {} and value {} do not divide into {} and {} heads", q, k, v, q_heads, kv_heads);
    const LinearAttentionSizes s{q[0], q[1], kv_heads, q[2] / q_heads, v[2] / kv_heads};
    Require(k[0] == s.batch && v[0] == s.batch && k[1] == s.steps && v[1] == s.steps && k[2] / kv_heads == s.width,
            "query is {}, key {} and value {}: batches, steps or head sizes differ", q, k, v);
    Require(past == nullptr || past->shape() == Shape({s.batch, s.heads, s.width, s.value_width}),
            "past_state needs the shape [{},{},{},{}]", s.batch, s.heads, s.width, s.value_width);
    return s;
  }

  float Scale(const LinearAttentionSizes& s) const { return AttentionScale(scale, s.width); }

  int64_t q_heads, kv_heads, out_heads;
  float scale;
  bool gated = false, delta = false;
};

/// One for each step and head, or each row of its state.
inline void CheckDecay(const Shape& shape, const LinearAttentionSizes& s) {
  Require(shape.rank() == 3 && shape[0] == s.batch && shape[1] == s.steps &&
              (shape[2] == s.heads || shape[2] == s.heads * s.width),
          "decay is {}; [{},{},{}] or [{},{},{}] is expected", shape, s.batch, s.steps, s.heads, s.batch, s.steps,
          s.heads * s.width);
}
/// One for each step and head, or each step.
inline void CheckBeta(const Shape& shape, const LinearAttentionSizes& s) {
  Require(shape.rank() == 3 && shape[0] == s.batch && shape[1] == s.steps && (shape[2] == s.heads || shape[2] == 1),
          "beta is {}; [{},{},{}] or [{},{},1] is expected", shape, s.batch, s.steps, s.heads, s.batch, s.steps);
}

}  // namespace tessera
