// Tile by tile: a block of queries meets a block of keys at a time, and the softmax is carried along (running maximum and
// sum), so that scores never leave the cache.

#include "cpu/ops/attention/scaled_dot_product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/ops/attention/attention_matmuls.h"
#include "cpu/ops/attention/rounded_attention.h"
#include "cpu/ops/attention/visible_keys.h"
#include "kernels/attention/attention.h"

namespace tessera::cpu {
namespace {

template <class C, class MatMuls>
class TiledAttention {
 public:
  TiledAttention(KernelContext& context, const AttentionProblem<C>& problem)
      : context_(context), p_(problem), s_(problem.sizes), matmuls_(problem), visible_(problem) {}

  void Run() {
    if (s_.batch * s_.query_heads * s_.queries * s_.value_width == 0 && p_.capture == CaptureStage::kNone) return;
    if (s_.queries >= kQueriesToLook) visible_.LeaveOutMasked(context_);
    // Captured probabilities need the whole row's sum first.
    key_block_ = std::max<int64_t>(s_.keys, 1);
    if (p_.capture != CaptureStage::kSoftmax) key_block_ = std::min(key_block_, kKeyBlock);
    const int64_t threads = context_.threads().num_threads();
    SplitQueries(threads);
    const int64_t tasks = CheckedMul(s_.batch * s_.query_heads, blocks_);
    const int64_t parts = std::clamp<int64_t>(tasks, 1, threads == 1 ? 1 : 4 * threads);
    const int64_t heads = s_.batch * s_.kv_heads, packed_size = matmuls_.packed_size();
    // Where a part has several heads, it packs each just before its queries, into the same workspace: what is packed stays
    // near.
    const bool packs_all = threads > 1 && heads < 2 * parts;
    const auto packed = context_.scratch<C>(static_cast<size_t>(CheckedMul(packs_all ? heads : parts, packed_size)));
    if (packs_all) PackAll(packed.data());
    const int64_t most_rows = std::max(query_block_, s_.queries - LastBlock());
    const int64_t scores = CheckedMul(most_rows, matmuls_.Stride(key_block_));
    const int64_t own = RoundUp(matmuls_.own_size(most_rows, key_block_), ScoreLanes<C>());
    const auto buffer = context_.scratch<C>(static_cast<size_t>(CheckedMul(parts, CheckedAdd(scores, own))));
    const auto rows = context_.scratch<ScoreRow<C>>(static_cast<size_t>(CheckedMul(parts, most_rows)));
    const double cost =
        static_cast<double>(query_block_ * s_.keys) * (static_cast<double>(s_.width + s_.value_width) * 0.03 + 1.0);
    context_.threads().ParallelFor(
        parts, cost * static_cast<double>(tasks) / static_cast<double>(parts), [&](int64_t begin, int64_t end) {
          for (int64_t part = begin; part < end; ++part) {
            int64_t held = -1;  // the head that the part's workspace holds
            for (int64_t task = tasks * part / parts; task < tasks * (part + 1) / parts; ++task) {
              CancellationPoint();
              const int64_t head = task / blocks_, b = head / s_.query_heads, h = head % s_.query_heads;
              const int64_t kv_head = b * s_.kv_heads + h / (s_.query_heads / s_.kv_heads);
              C* const own_packed = packed.data() + (packs_all ? kv_head : part) * packed_size;
              if (!packs_all && held != kv_head) PackHead(kv_head, own_packed);
              held = kv_head;
              const int64_t q0 = task % blocks_ * query_block_;
              C* const workspace = buffer.data() + part * (scores + own);
              RunBlock(
                  {b, h, q0, q0 == LastBlock() ? s_.queries - q0 : query_block_, own_packed, workspace, workspace + scores},
                  rows.data() + part * most_rows);
            }
          }
        });
  }

 private:
  static constexpr int64_t kQueryBlock = 48;
  static constexpr int64_t kKeyBlock = 512;
  static constexpr int64_t kQueriesToLook =
      8;  // at masks: fewer pass over keys and values little more often than a look would
  static constexpr C kMasked = -std::numeric_limits<C>::infinity();

  void SplitQueries(int64_t threads) {
    // Where queries see different keys, fewer of them have fewer keys to look at between them.
    query_block_ = std::clamp<int64_t>(s_.queries, 1, visible_.differ() ? kQueryBlock / 2 : kQueryBlock);
    const int64_t heads = s_.batch * s_.query_heads;
    if (heads < 2 * threads && threads > 1) {
      query_block_ = std::clamp<int64_t>(CeilDiv(s_.queries * heads, 2 * threads), 1, query_block_);
    }
    // The last block takes up to a quarter more rather than leave few rows to another.
    blocks_ = std::max<int64_t>(CeilDiv(s_.queries - query_block_ / 4, query_block_), 1);
  }

  /// The first query of the last block.
  int64_t LastBlock() const { return (blocks_ - 1) * query_block_; }

  void PackHead(int64_t head, C* packed) const {
    for (int64_t i = 0; i < matmuls_.panels(); ++i) matmuls_.Pack(head / s_.kv_heads, head % s_.kv_heads, i, packed);
  }

  void PackAll(C* packed) const {
    const int64_t panels = matmuls_.panels(), size = matmuls_.packed_size();
    if (panels == 0) return;
    const double cost = static_cast<double>(size / panels) * 0.25;
    context_.threads().ParallelFor(s_.batch * s_.kv_heads * panels, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t head = i / panels;
        matmuls_.Pack(head / s_.kv_heads, head % s_.kv_heads, i % panels, packed + head * size);
      }
    });
  }

  void RunBlock(const QueryBlock<C>& block, ScoreRow<C>* rows) {
    const auto [b, h, q0, count, packed, scores, own] = block;
    KeySpan seen = BeginRows(block, rows);
    if (p_.capture != CaptureStage::kNone) seen = {0, s_.keys};
    seen.begin -= seen.begin % GemmPanelWidth<C>();
    if (seen.begin < seen.end) matmuls_.Begin(block);
    bool first = true;
    for (int64_t k0 = seen.begin; k0 < seen.end; k0 += key_block_) {
      CancellationPoint();
      const int64_t keys = std::min(key_block_, seen.end - k0);
      if (p_.bias.batch != 0 && p_.bias.row != 0) AskForBias(block, rows, k0, keys);
      matmuls_.MultiplyKeys(block, k0, keys);
      if (p_.softcap > 0 || p_.capture != CaptureStage::kNone) {
        for (int64_t i = 0; i < count; ++i) PrepareRow(b, h, q0 + i, k0, keys, rows[i], scores + i * matmuls_.Stride(keys));
      }
      SoftmaxRows<C>(rows, count, scores, matmuls_.Stride(keys), k0, keys);
      for (int64_t i = 0; i < count && !first; ++i) {
        if (rows[i].rescale != C{1}) ScaleRow<C>(Result(b, h, q0 + i), s_.value_width, rows[i].rescale);
      }
      matmuls_.MultiplyValues(block, k0, keys, !first);
      first = false;
    }
    for (int64_t i = 0; i < count; ++i) {
      C* captured = p_.capture == CaptureStage::kSoftmax ? Captured(b, h, q0 + i) : nullptr;
      if (captured != nullptr && !first) std::copy_n(scores + i * matmuls_.Stride(s_.keys), s_.keys, captured);
      FinishRow(b, h, q0 + i, first ? C{0} : rows[i].sum, captured);
    }
  }

  /// What the next scores are added to, while they are computed: a mask of each batch is read once and comes from afar.
  void AskForBias(const QueryBlock<C>& block, const ScoreRow<C>* rows, int64_t k0, int64_t keys) const {
    constexpr int64_t kCacheLine = 64 / static_cast<int64_t>(sizeof(C));
    for (int64_t i = 0; i < block.count; ++i) {
      for (int64_t j = k0; j < k0 + keys && rows[i].bias != nullptr; j += kCacheLine) __builtin_prefetch(rows[i].bias + j);
    }
  }

  /// Returns what the rows see between them.
  KeySpan BeginRows(const QueryBlock<C>& block, ScoreRow<C>* rows) const {
    KeySpan seen{s_.keys, 0};
    for (int64_t i = 0; i < block.count; ++i) {
      const KeySpan span = visible_.Of(block.b, block.h, block.q0 + i);
      ScoreRow<C>& row = rows[i] = {};
      row.bias = p_.capture == CaptureStage::kBias ? nullptr : BiasRow(block.b, block.h, block.q0 + i);
      row.begin = span.begin;
      row.end = span.end;
      row.max = p_.sinks == nullptr ? kMasked : p_.sinks[block.h];
      row.sum = p_.sinks == nullptr ? C{0} : C{1};
      if (!span.empty()) seen = {std::min(seen.begin, span.begin), std::max(seen.end, span.end)};
    }
    return seen;
  }

  /// What is rarely done with scores before the softmax. A bias that is captured with them is added here.
  void PrepareRow(int64_t b, int64_t h, int64_t i, int64_t k0, int64_t keys, const ScoreRow<C>& row, C* scores) const {
    C* captured = p_.capture == CaptureStage::kNone ? nullptr : Captured(b, h, i) + k0;
    if (p_.capture == CaptureStage::kMatMul) std::copy_n(scores, keys, captured);
    if (p_.softcap > 0) SoftcapRow<C>(scores, keys, p_.softcap);
    if (p_.capture == CaptureStage::kSoftcap) std::copy_n(scores, keys, captured);
    if (p_.capture != CaptureStage::kBias) return;
    const int64_t begin = std::clamp<int64_t>(row.begin - k0, 0, keys),
                  end = std::clamp<int64_t>(row.end - k0, begin, keys);
    const C* bias = BiasRow(b, h, i);
    if (bias != nullptr) AddRow<C>(scores + begin, bias + k0 + begin, end - begin);
    std::fill_n(captured, keys, kMasked);
    std::copy_n(scores + begin, end - begin, captured + begin);
  }

  /// Divides by the sum of exponentials; results of a row that sees no key are 0, or NaN where that is asked for and there
  /// are keys.
  void FinishRow(int64_t b, int64_t h, int64_t i, C sum, C* captured) const {
    // A row without a key to attend to has scores of minus infinity or NaN alone.
    const bool may_be_masked = p_.sinks != nullptr || !std::isfinite(sum);
    const bool masked = sum == C{0} || (may_be_masked && FullyMasked(b, h, i));
    const C nothing = p_.nan_rows && s_.keys > 0 ? std::numeric_limits<C>::quiet_NaN() : C{0};
    const auto finish = [&](C* row, int64_t width) {
      if (masked) std::fill_n(row, width, nothing);
      else ScaleRow<C>(row, width, C{1} / sum);
    };
    finish(Result(b, h, i), s_.value_width);
    if (captured != nullptr) finish(captured, s_.keys);
  }

  C* Result(int64_t b, int64_t h, int64_t i) const { return p_.y.at(b, h) + i * p_.y.row; }

  C* Captured(int64_t b, int64_t h, int64_t i) const {
    return p_.captured + ((b * s_.query_heads + h) * s_.queries + i) * s_.keys;
  }

  const C* BiasRow(int64_t b, int64_t h, int64_t i) const {
    const AttentionBias<C>& bias = p_.bias;
    return bias.data == nullptr ? nullptr : bias.data + b * bias.batch + h * bias.head + i * bias.row;
  }

  /// Decided on the bias, not on scores, which may be NaN.
  bool FullyMasked(int64_t b, int64_t h, int64_t i) const {
    const KeySpan span = visible_.InRange(b, i);
    const C* bias = BiasRow(b, h, i);
    return span.empty() ||
           (bias != nullptr && std::all_of(bias + span.begin, bias + span.end, [](C x) { return x == kMasked; }));
  }

  KernelContext& context_;
  const AttentionProblem<C>& p_;
  const AttentionSizes& s_;
  const MatMuls matmuls_;
  VisibleKeys<C> visible_;
  int64_t key_block_ = 0;
  int64_t query_block_ = 0;
  int64_t blocks_ = 0;
};

}  // namespace

template <class C>
void ScaledDotProduct(KernelContext& context, const AttentionProblem<C>& problem) {
  if constexpr (std::is_same_v<C, float>) {
    if (RoundedMatMuls::Suits(problem)) return TiledAttention<float, RoundedMatMuls>(context, problem).Run();
  }
  TiledAttention<C, WholeMatMuls<C>>(context, problem).Run();
}

template void ScaledDotProduct(KernelContext&, const AttentionProblem<float>&);
template void ScaledDotProduct(KernelContext&, const AttentionProblem<double>&);

}  // namespace tessera::cpu
