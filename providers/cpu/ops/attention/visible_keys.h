#pragma once

// Which keys each query of attention sees.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/checked.h"
#include "cpu/ops/attention/attention_problem.h"
#include "kernels/attention/attention.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Keys [begin, end).
struct KeySpan {
  int64_t begin, end;
  bool empty() const { return begin == end; }
};

/// The keys that a query sees: those in its range, without those that its bias masks at either end. Tiles that no query
/// sees are not computed.
template <class C>
class VisibleKeys {
 public:
  explicit VisibleKeys(const AttentionProblem<C>& problem) : p_(problem), s_(problem.sizes) {}

  /// Looks at the bias: worth it where there are several queries. What is left out has exponentials of 0, provided that
  /// scores are no larger than masks are: Q, K and V are looked at too, where something is masked.
  void LeaveOutMasked(KernelContext& context) {
    if (p_.bias.data == nullptr || p_.capture != CaptureStage::kNone) return;
    const AttentionBias<C>& bias = p_.bias;
    row_ = bias.row == 0 ? 0 : 1;
    head_ = bias.head == 0 ? 0 : row_ == 0 ? 1 : s_.queries;
    const int64_t heads = bias.head == 0 ? 1 : s_.query_heads, rows = bias.row == 0 ? 1 : s_.queries;
    batch_ = bias.batch == 0 ? 0 : heads * rows;
    const int64_t batches = bias.batch == 0 ? 1 : s_.batch;
    const auto spans = context.scratch<KeySpan>(static_cast<size_t>(CheckedMul(batches, heads * rows)));
    bool masks = false;
    for (size_t i = 0; i < spans.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const C* row = bias.data + at / (heads * rows) * bias.batch + at / rows % heads * bias.head + at % rows * bias.row;
      spans[i] = Unmasked(row, bias.keys);
      masks |= spans[i].begin > 0 || spans[i].end < bias.keys;
    }
    if (masks && OperandsAreSmall(context)) unmasked_ = spans.data();
  }

  /// Whether queries see different keys.
  bool differ() const { return p_.range.causal || p_.range.left >= 0 || p_.range.right >= 0 || unmasked_ != nullptr; }

  /// By position alone.
  KeySpan InRange(int64_t b, int64_t i) const {
    const AttentionRange& range = p_.range;
    KeySpan span{0, s_.keys};
    int64_t position = i + range.offset;
    if (range.lengths != nullptr) {
      position = i + range.lengths[b] - s_.queries;
      span.end = std::min(span.end, range.lengths[b]);
    }
    if (range.causal) span.end = std::min(span.end, position + 1);
    if (range.right >= 0 && range.right < s_.keys) span.end = std::min(span.end, position + range.right + 1);
    if (range.left >= 0 && range.left < position) span.begin = position - range.left;
    if (p_.bias.data != nullptr) span.end = std::min(span.end, p_.bias.keys);
    span.end = std::max<int64_t>(span.end, 0);
    span.begin = std::min(span.begin, span.end);
    return span;
  }

  KeySpan Of(int64_t b, int64_t h, int64_t i) const {
    const KeySpan span = InRange(b, i);
    if (unmasked_ == nullptr) return span;
    const KeySpan& unmasked = unmasked_[b * batch_ + h * head_ + i * row_];
    const KeySpan both{std::max(span.begin, unmasked.begin), std::min(span.end, unmasked.end)};
    // Where all keys in range are masked, the softmax may be over them nevertheless.
    return both.begin < both.end && HasScore(b, h, i, both) ? both : span;
  }

 private:
  // A bias of at most kMask masks a key as long as another's is at least kScore, and scores are below it in magnitude.
  static constexpr C kMask = static_cast<C>(-1e29), kScore = static_cast<C>(-1e20), kLargestOperand = static_cast<C>(1e8);

  bool HasScore(int64_t b, int64_t h, int64_t i, KeySpan span) const {
    const C* bias = p_.bias.data + b * p_.bias.batch + h * p_.bias.head + i * p_.bias.row;
    while (span.begin < span.end && !(bias[span.begin] >= kScore)) ++span.begin;
    return !span.empty();
  }

  static KeySpan Unmasked(const C* bias, int64_t keys) {
    KeySpan span{0, keys};
    while (span.end > 0 && bias[span.end - 1] <= kMask) --span.end;
    while (span.begin < span.end && bias[span.begin] <= kMask) ++span.begin;
    return span;
  }

  bool OperandsAreSmall(KernelContext& context) const {
    if (!(std::abs(p_.scale) * static_cast<C>(s_.width) <= C{1e4})) return false;
    const auto small = [&](const Heads<const C>& operand, int64_t heads, int64_t rows, int64_t width) {
      const auto large = context.scratch<C>(static_cast<size_t>(s_.batch * heads));
      context.threads().ParallelFor(s_.batch * heads, static_cast<double>(rows * width) * 0.05,
                                    [&](int64_t begin, int64_t end) {
                                      for (int64_t i = begin; i < end; ++i) {
                                        large[static_cast<size_t>(i)] =
                                            LargestMagnitude<C>(operand.at(i / heads, i % heads), rows, operand.row, width);
                                      }
                                    });
      return std::all_of(large.begin(), large.end(), [](C most) { return most <= kLargestOperand; });
    };
    return small(p_.q, s_.query_heads, s_.queries, s_.width) && small(p_.k, s_.kv_heads, s_.keys, s_.width) &&
           small(p_.v, s_.kv_heads, s_.keys, s_.value_width);
  }

  const AttentionProblem<C>& p_;
  const AttentionSizes& s_;
  const KeySpan* unmasked_ = nullptr;
  int64_t batch_ = 0, head_ = 0, row_ = 0;
};

}  // namespace tessera::cpu
