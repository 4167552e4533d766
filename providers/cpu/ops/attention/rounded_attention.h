#pragma once

// The two matmuls of attention with operands of bfloat16.

#include <algorithm>
#include <cstdint>

#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/ops/attention/attention_matmuls.h"
#include "cpu/rounding.h"
#include "kernels/attention/attention.h"
#include "kernels/elementwise/convert.h"
#include "kernels/gemm/gemm_bf16.h"

namespace tessera::cpu {

/// Rounded to bfloat16, in pairs; sums are float32.
class RoundedMatMuls {
 public:
  explicit RoundedMatMuls(const AttentionProblem<float>& problem) : p_(problem), s_(problem.sizes) {
    k_size_ = static_cast<int64_t>(PackedGemmBf16Size(s_.width, s_.keys)) / 2;
    v_size_ = static_cast<int64_t>(PackedGemmBf16Size(s_.keys, s_.value_width)) / 2;
  }

  /// Where there are enough queries to pay for packing.
  static bool Suits(const AttentionProblem<float>& problem) {
    return problem.rounds && problem.sizes.queries >= kLeastRoundedQueries && problem.sizes.keys > 0 && HasGemmBf16();
  }

  int64_t packed_size() const { return CheckedAdd(k_size_, v_size_); }
  int64_t panels() const { return CeilDiv(s_.keys, width_) + CeilDiv(s_.value_width, width_); }
  int64_t own_size(int64_t rows, int64_t keys) const {
    return CheckedMul(rows, CheckedAdd(PairedSize(s_.width), Stride(keys)) / 2);
  }
  int64_t Stride(int64_t keys) const { return RoundUp(keys, width_); }

  void Pack(int64_t b, int64_t kv_head, int64_t panel, float* packed) const {
    const int64_t k_panels = CeilDiv(s_.keys, width_);
    if (panel < k_panels) {
      PackKeys(p_.k.at(b, kv_head) + panel * width_ * p_.k.row, std::min(width_, s_.keys - panel * width_),
               packed + panel * width_ * PairedSize(s_.width) / 2);
    } else {
      const int64_t column = (panel - k_panels) * width_;
      // What lies behind the valid ones may be no number, and the last one's partner in a pair.
      const int64_t valid = p_.range.lengths == nullptr ? s_.keys : std::min(s_.keys, p_.range.lengths[b]);
      PackValues(p_.v.at(b, kv_head) + column, valid, std::min(width_, s_.value_width - column),
                 AsPairs(packed + k_size_) + column * PairedSize(s_.keys));
    }
  }

  void Begin(const QueryBlock<float>& block) const {
    RoundRows(p_.q.at(block.b, block.h) + block.q0 * p_.q.row, p_.q.row, block.count, AsPairs(block.own));
  }

  void MultiplyKeys(const QueryBlock<float>& block, int64_t k0, int64_t keys) const {
    const int64_t stride = Stride(keys);
    GemmSerial<float>({.m = block.count,
                       .n = stride,
                       .k = s_.width,
                       .lhs = {.pairs = AsPairs(block.own)},
                       .rhs = {.packed = AsPairs(block.packed) + k0 * PairedSize(s_.width), .type = PanelType::kPairs},
                       .out = {.data = block.scores, .row = stride},
                       .alpha = p_.scale});
  }

  void MultiplyValues(const QueryBlock<float>& block, int64_t k0, int64_t keys, bool accumulate) const {
    BFloat16* exponentials = AsPairs(block.own) + block.count * PairedSize(s_.width);
    ConvertFromFloat(block.scores, exponentials, block.count * Stride(keys));
    GemmSerial<float>(
        {.m = block.count,
         .n = s_.value_width,
         .k = keys,
         .lhs = {.row = Stride(keys), .pairs = exponentials},
         .rhs = {.packed = AsPairs(block.packed + k_size_) + k0 * width_, .type = PanelType::kPairs, .packed_k = s_.keys},
         .out = {.data = p_.y.at(block.b, block.h) + block.q0 * p_.y.row, .row = p_.y.row},
         .accumulate = accumulate});
  }

 private:
  static BFloat16* AsPairs(float* workspace) { return reinterpret_cast<BFloat16*>(workspace); }
  static const BFloat16* AsPairs(const float* workspace) { return reinterpret_cast<const BFloat16*>(workspace); }

  void RoundRows(const float* rows, int64_t row, int64_t count, BFloat16* out) const {
    if (row == s_.width) return RoundToPairs(rows, count, s_.width, out);
    for (int64_t i = 0; i < count; ++i) RoundToPairs(rows + i * row, 1, s_.width, out + i * PairedSize(s_.width));
  }

  /// Pairs are moved as floats are.
  void PackKeys(const float* keys, int64_t count, float* panel) const {
    constexpr int64_t kTogether = 128, kMostWidth = 32;  // 8 KiB
    float rounded[kMostWidth * kTogether / 2];
    for (int64_t c = 0; c < s_.width; c += kTogether) {
      const int64_t some = std::min(kTogether, s_.width - c), pairs = CeilDiv(some, 2);
      for (int64_t i = 0; i < count; ++i) RoundToPairs(keys + i * p_.k.row + c, 1, some, AsPairs(rounded) + i * 2 * pairs);
      PackGemmPanel<float>(rounded, 1, pairs, pairs, count, panel + c / 2 * width_);
    }
  }

  void PackValues(const float* values, int64_t valid, int64_t count, BFloat16* panel) const {
    const int64_t written = PairedSize(valid), all = PairedSize(s_.keys);
    std::fill_n(panel + written * width_, (all - written) * width_, BFloat16());
    PackGemmBf16Panel(values, p_.v.row, false, valid, count, panel);
  }

  const AttentionProblem<float>& p_;
  const AttentionSizes& s_;
  const int64_t width_ = GemmPanelWidth<float>();
  int64_t k_size_ = 0, v_size_ = 0;
};

}  // namespace tessera::cpu
