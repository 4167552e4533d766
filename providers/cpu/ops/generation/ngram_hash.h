#pragma once

// What NGramHashMapping and VarlenNGramHashMapping share: hashes of the n-grams that end at each token of a sequence.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/cancellation.h"
#include "base/checked.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Of one sequence; past ones end where it begins. Spans are empty where nothing is given.
template <class T>
struct TokenSequence {
  std::span<const T> ids, past;
  std::span<const int32_t> segments, past_segments;
};

/// The tokens of a sequence with their history before, of which there is always as much as counts.
template <class T>
class ExtendedTokens {
 public:
  ExtendedTokens(std::vector<T> history, std::span<const T> ids) : history_(std::move(history)), ids_(ids) {}

  int64_t size() const { return Reach() + static_cast<int64_t>(ids_.size()); }
  T operator[](int64_t at) const {
    return at < Reach() ? history_[static_cast<size_t>(at)] : ids_[static_cast<size_t>(at - Reach())];
  }
  /// `count` of them from `begin` on.
  void Copy(int64_t begin, int64_t count, T* to) const {
    for (int64_t i = 0; i < count; ++i) to[i] = (*this)[begin + i];
  }

 private:
  int64_t Reach() const { return static_cast<int64_t>(history_.size()); }

  std::vector<T> history_;
  std::span<const T> ids_;
};

template <class T>
class NGramHash {
 public:
  explicit NGramHash(const KernelInfo& info)
      : size_(info.attribute<int64_t>("max_ngram_size")),
        per_size_(info.attribute<int64_t>("n_head_per_ngram")),
        resets_(info.attribute<int64_t>("reset_on_eos", 0) != 0) {
    Require(size_ >= 2 && per_size_ >= 1,
            "max_ngram_size and n_head_per_ngram are {} and {}; 2 and 1 are expected at least", size_, per_size_);
    heads_ = CheckedMul(size_ - 1, per_size_);
    const auto pad = info.attribute<int64_t>("pad_id");
    Require(pad >= std::numeric_limits<T>::min() && pad <= std::numeric_limits<T>::max(),
            "pad_id is {}, which does not fit into the ids' type", pad);
    pad_ = static_cast<T>(pad);
  }

  int64_t heads() const { return heads_; }
  /// How many tokens before the current one count.
  int64_t reach() const { return size_ - 1; }
  T pad() const { return pad_; }

  /// What one run is given.
  struct Inputs {
    std::span<const T> multipliers, vocabularies, offsets;  // offsets: empty where there are none
    std::optional<T> end;
  };

  Inputs Read(const KernelContext& context, const Tensor* offsets, const Tensor* end) const {
    const Tensor& multipliers = context.required_input(1);
    const Tensor& vocabularies = context.required_input(2);
    Require(multipliers.shape().rank() == 1 && multipliers.shape()[0] >= size_,
            "multipliers is {}; [{}] is expected at least", multipliers.shape(), size_);
    Require(vocabularies.shape() == Shape({heads_}), "vocab_sizes is {}; [{}] is expected", vocabularies.shape(), heads_);
    for (const T vocabulary : vocabularies.values<T>()) Require(vocabulary > 0, "a vocabulary has {} entries", vocabulary);
    Require(offsets == nullptr || offsets->shape() == Shape({heads_}), "head_offsets is {}; [{}] is expected",
            offsets == nullptr ? Shape() : offsets->shape(), heads_);
    Require(end == nullptr || end->num_elements() == 1, "eos_token_id is {}; a scalar is expected",
            end == nullptr ? Shape() : end->shape());
    return {multipliers.values<T>(), vocabularies.values<T>(),
            offsets == nullptr ? std::span<const T>() : offsets->values<T>(),
            end == nullptr ? std::nullopt : std::optional<T>(*end->data<T>())};
  }

  ExtendedTokens<T> Extended(const TokenSequence<T>& sequence, const Inputs& inputs) const {
    std::vector<T> history(static_cast<size_t>(reach()), inputs.end.value_or(pad_));
    std::ranges::copy(sequence.past, history.begin());
    return {std::move(history), sequence.ids};
  }

  /// Into `hashes`, `heads` for each token.
  void Compute(KernelContext& context, const TokenSequence<T>& sequence, const Inputs& inputs, T* hashes) const {
    const ExtendedTokens<T> tokens = Extended(sequence, inputs);
    const std::span<int64_t> resets = context.scratch<int64_t>(sequence.ids.size());
    FindResets(tokens, sequence, inputs, resets);
    const T none = inputs.end.value_or(pad_);
    const auto count = static_cast<int64_t>(sequence.ids.size());
    context.threads().ParallelFor(count, static_cast<double>(heads_ * 4 + size_), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Bits mix = 0;
        for (int64_t k = 0; k < size_; ++k) {
          const int64_t at = reach() + i - k;
          const T token = at <= resets[static_cast<size_t>(i)] ? none : tokens[at];
          mix ^= static_cast<Bits>(token) * static_cast<Bits>(inputs.multipliers[static_cast<size_t>(k)]);
          if (k > 0) Reduce(static_cast<T>(mix), (k - 1) * per_size_, inputs, hashes + i * heads_);
        }
      }
    });
  }

 private:
  using Bits = std::make_unsigned_t<T>;

  /// For each token, the last of the extended ones that does not count any more for it; -1 when all do.
  void FindResets(const ExtendedTokens<T>& tokens, const TokenSequence<T>& sequence, const Inputs& inputs,
                  std::span<int64_t> resets) const {
    PacedCancellationPoint look(3);
    const auto& past = sequence.past_segments;
    int64_t last = -1;
    for (int64_t at = 1; at < tokens.size(); ++at) {  // is there a border before `at`?
      look.Pass();
      const int64_t i = at - reach();
      bool border = resets_ && inputs.end && tokens[at - 1] == *inputs.end;
      if (i > 0 && !sequence.segments.empty())
        border |= sequence.segments[static_cast<size_t>(i)] != sequence.segments[static_cast<size_t>(i - 1)];
      if (i == 0 && !past.empty()) border |= sequence.segments[0] != past.back();
      if (i < 0 && !past.empty()) border |= past[static_cast<size_t>(at)] != past[static_cast<size_t>(at - 1)];
      if (border) last = at - 1;
      if (i >= 0) resets[static_cast<size_t>(i)] = last;
    }
  }

  void Reduce(T mix, int64_t head, const Inputs& inputs, T* hashes) const {
    for (int64_t i = head; i < head + per_size_; ++i) {
      const T vocabulary = inputs.vocabularies[static_cast<size_t>(i)];
      const T rest = mix % vocabulary;
      const T hash = rest < 0 ? rest + vocabulary : rest;
      hashes[i] = inputs.offsets.empty()
                      ? hash
                      : static_cast<T>(static_cast<Bits>(hash) + static_cast<Bits>(inputs.offsets[static_cast<size_t>(i)]));
    }
  }

  int64_t size_, per_size_, heads_ = 0;
  bool resets_;
  T pad_ = 0;
};

/// A part of an optional input's elements; empty when it is left out.
template <class T>
std::span<const T> PartOf(const Tensor* tensor, int64_t begin, int64_t count) {
  if (tensor == nullptr) return {};
  return tensor->values<T>().subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
}

/// Throws Error where the input is there and has another shape.
inline void RequireShape(const Tensor* tensor, const char* name, const Shape& shape) {
  if (tensor != nullptr) Require(tensor->shape() == shape, "{} is {}; {} is expected", name, tensor->shape(), shape);
}

}  // namespace tessera::cpu
