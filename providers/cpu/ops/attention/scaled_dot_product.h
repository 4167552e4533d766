#pragma once

// Scaled dot-product attention, tile by tile: a block of queries meets a block of keys at a time, and the softmax is carried
// along (running maximum and sum), so that scores never leave the cache. Shared by Attention and FlexAttention.

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "base/rounding.h"
#include "simd/attention.h"
#include "simd/gemm.h"
#include "tessera/kernel.h"

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

struct AttentionSizes {
  int64_t batch, query_heads, kv_heads, queries, keys, width, value_width;
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
  int64_t offset = 0;          // for every batch, or
  const int64_t* lengths = nullptr;  // valid keys by batch: offset is lengths[b] - queries
  bool causal = false;
  int64_t left = -1;
  int64_t right = -1;
};

enum class CaptureStage : int8_t { kNone = -1, kProduct = 0, kSoftcap = 1, kBias = 2, kSoftmax = 3 };

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
};

template <class C>
class ScaledDotProduct {
 public:
  ScaledDotProduct(KernelContext& context, const AttentionProblem<C>& problem) : context_(context), p_(problem), s_(problem.sizes) {}

  void Run() {
    if (s_.batch * s_.query_heads * s_.queries * s_.value_width == 0 && p_.capture == CaptureStage::kNone) return;
    // Captured probabilities need the whole row's sum first.
    key_block_ = p_.capture == CaptureStage::kSoftmax ? std::max<int64_t>(s_.keys, 1) : std::min<int64_t>(std::max<int64_t>(s_.keys, 1), kKeyBlock);
    const int64_t threads = context_.threads().num_threads();
    query_block_ = QueryBlock(s_.queries);
    row_ = RoundUp(key_block_, GemmPanelWidth<C>());
    const int64_t heads = s_.batch * s_.query_heads;
    if (heads < 2 * threads && threads > 1) {
      query_block_ = std::clamp<int64_t>((s_.queries * heads + 2 * threads - 1) / (2 * threads), 1, query_block_);
    }
    blocks_ = (s_.queries + query_block_ - 1) / std::max<int64_t>(query_block_, 1);
    const int64_t tasks = CheckedMul(heads, blocks_);
    const int64_t parts = std::clamp<int64_t>(tasks, 1, threads == 1 ? 1 : 4 * threads);
    const int64_t scores = CheckedMul(query_block_, row_);
    int64_t own_panels = 0;
    if (s_.queries >= 8 && s_.keys > 0) {
      k_size_ = static_cast<int64_t>(PackedGemmBSize<C>(s_.width, s_.keys));
      v_size_ = static_cast<int64_t>(PackedGemmBSize<C>(s_.keys, s_.value_width));
      // Panels that one block reads stay near it.
      const bool shared = blocks_ > 1 || s_.query_heads != s_.kv_heads;
      if (shared) PackKeysAndValues();
      if (!shared) own_panels = CheckedAdd(k_size_, v_size_);
    }
    const int64_t own_size = RoundUp(CheckedAdd(scores + 2 * query_block_, own_panels), GemmPanelWidth<C>());
    const auto buffer = context_.scratch<C>(static_cast<size_t>(CheckedMul(parts, own_size)));
    const double cost = static_cast<double>(query_block_ * s_.keys) * (static_cast<double>(s_.width + s_.value_width) * 0.03 + 1.0);
    context_.threads().ParallelFor(parts, cost * static_cast<double>(tasks) / static_cast<double>(parts), [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        C* panels = buffer.data() + part * own_size;
        C* own = panels + own_panels;
        for (int64_t task = tasks * part / parts; task < tasks * (part + 1) / parts; ++task) {
          if (context_.cancelled()) return;
          const int64_t b = task / blocks_ / s_.query_heads, h = task / blocks_ % s_.query_heads;
          RunBlock(b, h, task % blocks_ * query_block_, PanelsOf(b, h, panels), own, own + scores, own + scores + query_block_);
        }
      }
    });
  }

 private:
  static constexpr int64_t kQueryBlock = 48;
  static constexpr int64_t kLowBlock = 12;
  static constexpr int64_t kKeyBlock = 512;
  static constexpr C kMasked = -std::numeric_limits<C>::infinity();

  struct Span {
    int64_t begin, end;
  };

  /// Of about the same height where the last would be low: it would pay for all keys with a few rows.
  static int64_t QueryBlock(int64_t queries) {
    const int64_t low = queries % kQueryBlock;
    if (queries <= kQueryBlock || low == 0 || low >= kLowBlock) return std::min(queries, kQueryBlock);
    return CeilDiv(queries, queries / kQueryBlock);
  }

  /// Every query sees every key, and nobody wants to know more than the result.
  bool IsPlain() const {
    const AttentionRange& range = p_.range;
    return p_.capture == CaptureStage::kNone && p_.sinks == nullptr && !(p_.softcap > 0) && range.lengths == nullptr &&
           !range.causal && range.left < 0 && range.right < 0 && (p_.bias.data == nullptr || p_.bias.keys >= s_.keys);
  }

  /// Packed keys, transposed, and values of a head; null where so few queries read them that they are read where they lie.
  struct Panels {
    const C* keys = nullptr;
    const C* values = nullptr;
  };

  Panels PanelsOf(int64_t b, int64_t h, C* own) const {
    if (k_size_ == 0) return {};
    const int64_t head = b * s_.kv_heads + h / (s_.query_heads / s_.kv_heads);
    if (packed_ != nullptr) return {packed_ + head * (k_size_ + v_size_), packed_ + head * (k_size_ + v_size_) + k_size_};
    for (int64_t panel = 0; panel < NumPanels(); ++panel) PackPanel(head, panel, own);
    return {own, own + k_size_};
  }

  /// Of a head: those of the keys, then those of the values.
  int64_t NumPanels() const { return CeilDiv(s_.keys, GemmPanelWidth<C>()) + CeilDiv(s_.value_width, GemmPanelWidth<C>()); }

  void PackPanel(int64_t head, int64_t panel, C* out) const {
    const int64_t width = GemmPanelWidth<C>(), k_panels = CeilDiv(s_.keys, width), b = head / s_.kv_heads, h = head % s_.kv_heads;
    if (panel < k_panels) {
      PackGemmPanel<C>(p_.k.at(b, h) + panel * width * p_.k.row, 1, p_.k.row, s_.width, std::min(width, s_.keys - panel * width),
                       out + panel * width * s_.width);
    } else {
      const int64_t column = (panel - k_panels) * width;
      PackGemmPanel<C>(p_.v.at(b, h) + column, p_.v.row, 1, s_.keys, std::min(width, s_.value_width - column),
                       out + k_size_ + column * s_.keys);
    }
  }

  void PackKeysAndValues() {
    const int64_t heads = s_.batch * s_.kv_heads, size = CheckedAdd(k_size_, v_size_), per_head = NumPanels();
    packed_ = context_.scratch<C>(static_cast<size_t>(CheckedMul(heads, size))).data();
    const double cost = static_cast<double>(GemmPanelWidth<C>() * (s_.width + s_.keys)) * 0.25;
    context_.threads().ParallelFor(heads * per_head, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) PackPanel(i / per_head, i % per_head, packed_ + i / per_head * size);
    });
  }

  /// Keys that query i of batch b may see.
  Span Visible(int64_t b, int64_t i) const {
    const AttentionRange& range = p_.range;
    Span span{0, s_.keys};
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

  void RunBlock(int64_t b, int64_t h, int64_t q0, const Panels& panels, C* scores, C* maxima, C* sums) {
    const int64_t rows = std::min(query_block_, s_.queries - q0);
    Span seen{s_.keys, 0};
    for (int64_t i = 0; i < rows; ++i) {
      const Span span = Visible(b, q0 + i);
      if (span.begin == span.end) continue;
      seen = {std::min(seen.begin, span.begin), std::max(seen.end, span.end)};
    }
    if (p_.capture != CaptureStage::kNone) seen = {0, s_.keys};
    std::fill_n(maxima, rows, p_.sinks == nullptr ? kMasked : p_.sinks[h]);
    std::fill_n(sums, rows, p_.sinks == nullptr ? C{0} : C{1});
    seen.begin -= seen.begin % GemmPanelWidth<C>();
    bool first = true;
    const bool plain = IsPlain();
    for (int64_t k0 = seen.begin; k0 < seen.end; k0 += key_block_) {
      const int64_t keys = std::min(key_block_, seen.end - k0);
      if (p_.bias.batch != 0 && p_.bias.row != 0) FetchBias(b, h, q0, rows, k0, keys);
      MultiplyKeys(b, h, q0, rows, k0, keys, panels.keys, scores);
      if (plain && first) {
        SoftmaxRows<C>({scores, row_, rows, keys, BiasRow(b, h, q0), p_.bias.row}, maxima, sums);
      } else {
        for (int64_t i = 0; i < rows; ++i) SoftmaxRow(b, h, q0, i, k0, keys, first, scores + i * row_, maxima, sums);
      }
      MultiplyValues(b, h, q0, rows, k0, keys, first, panels.values, scores);
      first = false;
    }
    const auto is_whole = [](C sum) { return sum > C{0} && std::isfinite(sum); };
    if (plain && !first && std::all_of(sums, sums + rows, is_whole)) {
      DivideRows<C>(p_.y.at(b, h) + q0 * p_.y.row, p_.y.row, rows, s_.value_width, sums);
      return;
    }
    FinishRows(b, h, q0, rows, first, scores, sums);
  }

  /// Divides by the sums; queries without a key to attend to get zeros.
  void FinishRows(int64_t b, int64_t h, int64_t q0, int64_t rows, bool first, const C* scores, const C* sums) const {
    for (int64_t i = 0; i < rows; ++i) {
      C* y = p_.y.at(b, h) + (q0 + i) * p_.y.row;
      // A row without a key to attend to has scores of minus infinity or NaN alone.
      const bool may_be_masked = p_.sinks != nullptr || !std::isfinite(sums[i]);
      if (sums[i] == C{0} || first || (may_be_masked && FullyMasked(b, h, q0 + i))) {
        std::fill_n(y, s_.value_width, C{0});
        if (p_.capture == CaptureStage::kSoftmax) std::fill_n(Captured(b, h, q0 + i), s_.keys, C{0});
        continue;
      }
      ScaleRow<C>(y, s_.value_width, C{1} / sums[i]);
      if (p_.capture == CaptureStage::kSoftmax) {
        C* out = Captured(b, h, q0 + i);
        std::copy_n(scores + i * row_, s_.keys, out);
        ScaleRow<C>(out, s_.keys, C{1} / sums[i]);
      }
    }
  }

  C* Captured(int64_t b, int64_t h, int64_t i) const { return p_.captured + ((b * s_.query_heads + h) * s_.queries + i) * s_.keys; }

  const C* BiasRow(int64_t b, int64_t h, int64_t i) const {
    const AttentionBias<C>& bias = p_.bias;
    return bias.data == nullptr ? nullptr : bias.data + b * bias.batch + h * bias.head + i * bias.row;
  }

  /// Asks for what the next scores are added to, while they are computed: a mask of each batch is read once and comes from afar.
  void FetchBias(int64_t b, int64_t h, int64_t q0, int64_t rows, int64_t k0, int64_t keys) const {
    constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(C));
    for (int64_t i = 0; i < rows; ++i) {
      const C* row = BiasRow(b, h, q0 + i) + k0;
      for (int64_t j = 0; j < keys; j += kLine) __builtin_prefetch(row + j);
    }
  }

  /// Decided on the bias, not on scores, which may be NaN.
  bool FullyMasked(int64_t b, int64_t h, int64_t i) const {
    const Span span = Visible(b, i);
    const C* bias = BiasRow(b, h, i);
    return span.begin == span.end || (bias != nullptr && MaxOfRow<C>(bias + span.begin, span.end - span.begin) == kMasked);
  }

  void MultiplyKeys(int64_t b, int64_t h, int64_t q0, int64_t rows, int64_t k0, int64_t keys, const C* panels, C* scores) const {
    const int64_t kv_head = h / (s_.query_heads / s_.kv_heads);
    GemmArgs<C> args;
    args.m = rows;
    // Whole vectors: panels are padded with zeros.
    args.n = panels == nullptr ? keys : RoundUp(keys, GemmPanelWidth<C>() / 2);
    args.k = s_.width;
    args.a = p_.q.at(b, h) + q0 * p_.q.row;
    args.a_row = p_.q.row;
    args.c = scores;
    args.c_row = row_;
    args.alpha = p_.scale;
    if (panels != nullptr) {
      args.packed_b = panels + k0 * s_.width;
    } else {
      args.b = p_.k.at(b, kv_head) + k0 * p_.k.row;
      args.b_k = 1;
      args.b_col = p_.k.row;
    }
    GemmSerial(args);
  }

  void MultiplyValues(int64_t b, int64_t h, int64_t q0, int64_t rows, int64_t k0, int64_t keys, bool first, const C* panels,
                      const C* scores) const {
    const int64_t kv_head = h / (s_.query_heads / s_.kv_heads);
    GemmArgs<C> args;
    args.m = rows;
    args.n = s_.value_width;
    args.k = keys;
    args.a = scores;
    args.a_row = row_;
    args.c = p_.y.at(b, h) + q0 * p_.y.row;
    args.c_row = p_.y.row;
    args.accumulate = !first;
    if (panels != nullptr) {
      args.packed_b = panels + k0 * GemmPanelWidth<C>();
      args.packed_k = s_.keys;
    } else {
      args.b = p_.v.at(b, kv_head) + k0 * p_.v.row;
      args.b_k = p_.v.row;
    }
    GemmSerial(args);
  }

  /// Turns scores of query q0 + i for keys [k0, k0 + keys) into exponentials against the running maximum.
  void SoftmaxRow(int64_t b, int64_t h, int64_t q0, int64_t i, int64_t k0, int64_t keys, bool first, C* row, C* maxima,
                  C* sums) const {
    const Span span = Visible(b, q0 + i);
    const int64_t begin = std::clamp<int64_t>(span.begin - k0, 0, keys);
    const int64_t end = std::clamp<int64_t>(span.end - k0, begin, keys);
    const C* bias = BiasRow(b, h, q0 + i);
    C* capture = p_.capture == CaptureStage::kNone ? nullptr : Captured(b, h, q0 + i) + k0;
    if (p_.capture == CaptureStage::kProduct) std::copy_n(row, keys, capture);
    if (p_.softcap > 0) SoftcapRow<C>(row, keys, p_.softcap);
    if (p_.capture == CaptureStage::kSoftcap) std::copy_n(row, keys, capture);
    if (bias != nullptr) AddRow<C>(row + begin, bias + k0 + begin, end - begin);
    if (p_.capture == CaptureStage::kBias) {
      std::fill_n(capture, keys, kMasked);
      std::copy_n(row + begin, end - begin, capture + begin);
    }
    const C max = std::max(maxima[i], MaxOfRow<C>(row + begin, end - begin));
    if (max == kMasked) {
      std::fill_n(row, keys, C{0});
      return;
    }
    if (max != maxima[i] && (!first || p_.sinks != nullptr)) {
      const C factor = std::exp(maxima[i] - max);
      sums[i] *= factor;
      if (!first) ScaleRow<C>(p_.y.at(b, h) + (q0 + i) * p_.y.row, s_.value_width, factor);
    }
    maxima[i] = max;
    std::fill_n(row, begin, C{0});
    sums[i] += ExpRow<C>(row + begin, end - begin, max);
    std::fill_n(row + end, keys - end, C{0});
  }

  KernelContext& context_;
  const AttentionProblem<C>& p_;
  const AttentionSizes& s_;
  int64_t key_block_ = 0;
  int64_t row_ = 0;  // of scores: the keys of a block and what pads them
  int64_t query_block_ = 0;
  int64_t blocks_ = 0;
  int64_t k_size_ = 0;
  int64_t v_size_ = 0;
  C* packed_ = nullptr;  // by head: panels of keys and values
};

}  // namespace tessera::cpu
