#include "cpu/ops/generation/token_rules.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/cancellable_sort.h"
#include "cpu/ops/generation/repeated_ngrams.h"

namespace tessera::cpu {
namespace {

/// Of what is not allowed: finite, so that sums of it stay numbers.
constexpr float kForbidden = std::numeric_limits<float>::lowest();

void Penalize(std::span<float> scores, std::span<const int32_t> sequence, float penalty) {
  std::vector<int32_t> tokens(sequence.begin(), sequence.end());
  SortCancellably(tokens.begin(), tokens.end());
  const auto repeated = std::ranges::unique(tokens);
  tokens.erase(repeated.begin(), repeated.end());
  for (const int32_t token : tokens) {
    if (token < 0 || static_cast<size_t>(token) >= scores.size()) continue;
    float& score = scores[static_cast<size_t>(token)];
    score = score < 0 ? score * penalty : score / penalty;
  }
}

void ForbidRepetitions(std::span<float> scores, std::span<const int32_t> sequence, int64_t size) {
  ForEachRepeatedNgram(sequence, size, [scores](int32_t token) {
    if (token >= 0 && static_cast<size_t>(token) < scores.size()) scores[static_cast<size_t>(token)] = kForbidden;
  });
}

void Mask(std::span<float> scores, std::span<const int32_t> allowed) {
  for (size_t i = 0; i < scores.size(); ++i) {
    if (allowed[i] == 0) scores[i] = kForbidden;
  }
}

}  // namespace

void TokenRules::Apply(std::span<float> scores, std::span<const int32_t> sequence, int64_t image, bool first) const {
  if (repetition_penalty != 1) Penalize(scores, sequence, repetition_penalty);
  if (no_repeat_ngram_size > 0) ForbidRepetitions(scores, sequence, no_repeat_ngram_size);
  if (!vocabulary_mask.empty()) Mask(scores, vocabulary_mask);
  if (first && !prefix_mask.empty())
    Mask(scores, prefix_mask.subspan(static_cast<size_t>(image) * scores.size(), scores.size()));
  if (static_cast<int64_t>(sequence.size()) < min_length && end >= 0 && static_cast<size_t>(end) < scores.size()) {
    scores[static_cast<size_t>(end)] = kForbidden;
  }
  if (temperature != 1 && temperature > 0) {
    for (float& score : scores) score /= temperature;
  }
  if (presence_penalty != 0 && !presence_mask.empty()) {
    const auto present = presence_mask.subspan(static_cast<size_t>(image) * scores.size(), scores.size());
    for (size_t i = 0; i < scores.size(); ++i) scores[i] -= static_cast<float>(present[i]) * presence_penalty;
  }
  if (timestamps != nullptr) timestamps->Apply(scores, sequence);
}

}  // namespace tessera::cpu
