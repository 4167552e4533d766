#pragma once

// The two matmuls of attention, queries by keys and exponentials by values, over keys and values packed by heads.

#include <algorithm>
#include <cstdint>

#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/ops/attention/attention_problem.h"
#include "kernels/attention/attention.h"
#include "kernels/gemm/gemm.h"

namespace tessera::cpu {

/// Queries [q0, q0 + count) of one head, and a workspace of their own.
template <class C>
struct QueryBlock {
  int64_t b, h, q0, count;
  const C* packed;  // keys and values of the head
  C* scores;
  C* own;  // for the matmuls
};

/// As the tensors are.
template <class C>
class WholeMatMuls {
 public:
  explicit WholeMatMuls(const AttentionProblem<C>& problem) : p_(problem), s_(problem.sizes) {
    if (s_.queries < kLeastToPack || s_.keys == 0) return;
    packs_ = true;
    // Values of one panel already lie as one.
    packs_values_ = s_.value_width != width_ || p_.v.row != width_;
    k_size_ = static_cast<int64_t>(PackedGemmBSize<C>(s_.width, s_.keys));
    v_size_ = packs_values_ ? static_cast<int64_t>(PackedGemmBSize<C>(s_.keys, s_.value_width)) : 0;
  }

  /// Elements of a head's keys and values, packed.
  int64_t packed_size() const { return CheckedAdd(k_size_, v_size_); }
  int64_t panels() const {
    return (packs_ ? CeilDiv(s_.keys, width_) : 0) + (packs_values_ ? CeilDiv(s_.value_width, width_) : 0);
  }
  int64_t own_size(int64_t /*rows*/, int64_t /*keys*/) const { return 0; }
  /// Between rows of scores.
  int64_t Stride(int64_t keys) const { return RoundUp(keys, ScoreLanes<C>()); }

  void Pack(int64_t b, int64_t kv_head, int64_t panel, C* packed) const {
    const int64_t k_panels = CeilDiv(s_.keys, width_);
    if (panel < k_panels) {
      PackGemmPanel<C>(p_.k.at(b, kv_head) + panel * width_ * p_.k.row, 1, p_.k.row, s_.width,
                       std::min(width_, s_.keys - panel * width_), packed + panel * width_ * s_.width);
    } else {
      const int64_t column = (panel - k_panels) * width_;
      PackGemmPanel<C>(p_.v.at(b, kv_head) + column, p_.v.row, 1, s_.keys, std::min(width_, s_.value_width - column),
                       packed + k_size_ + column * s_.keys);
    }
  }

  void Begin(const QueryBlock<C>& /*block*/) const {}

  void MultiplyKeys(const QueryBlock<C>& block, int64_t k0, int64_t keys) const {
    GemmProblem<C> args;
    args.m = block.count;
    // Panels of packed keys end with zeros, and whole vectors need no detour to be stored.
    args.n = packs_ ? Stride(keys) : keys;
    args.k = s_.width;
    args.lhs = {.data = p_.q.at(block.b, block.h) + block.q0 * p_.q.row, .row = p_.q.row};
    args.out = {.data = block.scores, .row = Stride(keys)};
    args.alpha = p_.scale;
    if (packs_) {
      args.rhs.packed = block.packed + k0 * s_.width;
    } else {
      args.rhs = {.data = p_.k.at(block.b, KeyHead(block)) + k0 * p_.k.row, .k = 1, .col = p_.k.row};
    }
    GemmSerial(args);
  }

  void MultiplyValues(const QueryBlock<C>& block, int64_t k0, int64_t keys, bool accumulate) const {
    GemmProblem<C> args;
    args.m = block.count;
    args.n = s_.value_width;
    args.k = keys;
    args.lhs = {.data = block.scores, .row = Stride(keys)};
    args.out = {.data = p_.y.at(block.b, block.h) + block.q0 * p_.y.row, .row = p_.y.row};
    args.accumulate = accumulate;
    const C* values = p_.v.at(block.b, KeyHead(block)) + k0 * p_.v.row;
    if (packs_) {
      args.rhs.packed = packs_values_ ? block.packed + k_size_ + k0 * width_ : values;
      args.rhs.packed_k = s_.keys;
    } else {
      args.rhs = {.data = values, .k = p_.v.row};
    }
    GemmSerial(args);
  }

 private:
  static constexpr int64_t kLeastToPack = 8;  // queries

  int64_t KeyHead(const QueryBlock<C>& block) const { return block.h / (s_.query_heads / s_.kv_heads); }

  const AttentionProblem<C>& p_;
  const AttentionSizes& s_;
  const int64_t width_ = GemmPanelWidth<C>();
  bool packs_ = false, packs_values_ = false;
  int64_t k_size_ = 0, v_size_ = 0;
};

}  // namespace tessera::cpu
