#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "cpu/ops/generation/token_rules.h"

namespace tessera::cpu {
namespace {

constexpr float kNever = std::numeric_limits<float>::lowest();
/// The latest that a first timestamp may be, in steps of a timestamp.
constexpr int64_t kLatestFirst = 50;

/// Scores of tokens [from, to).
void ForbidRange(std::span<float> scores, int64_t from, int64_t to) {
  const auto size = static_cast<int64_t>(scores.size());
  from = std::clamp<int64_t>(from, 0, size);
  std::ranges::fill(scores.subspan(static_cast<size_t>(from), static_cast<size_t>(std::clamp(to, from, size) - from)),
                    kNever);
}

void ForbidTokens(std::span<float> scores, std::initializer_list<int64_t> tokens) {
  for (const int64_t token : tokens) ForbidRange(scores, token, token < 0 ? token : token + 1);
}

/// The logarithm of the sum of what the scores are logarithms of.
float LogOfSum(std::span<const float> scores) {
  const float most = *std::ranges::max_element(scores);
  float sum = 0;
  for (const float score : scores) {
    if (score > kNever) sum += std::exp(score - most);
  }
  return sum > 0 ? std::log(sum) + most : -std::numeric_limits<float>::infinity();
}

}  // namespace

void TimestampRules::Apply(std::span<float> scores, std::span<const int32_t> sequence) const {
  const auto size = static_cast<int64_t>(scores.size()), length = static_cast<int64_t>(sequence.size());
  const auto is_time = [&](int32_t token) { return token >= first; };
  // Up to the first timestamp, which counts in; all of it where there is none.
  const auto found = std::ranges::find_if(sequence, is_time);
  const int64_t text = found == sequence.end() ? length : found - sequence.begin() + 1;
  ForbidTokens(scores, {no_timestamps, start_of_text});
  if (length > text) ForbidTokens(scores, {start, translate, transcribe});

  const bool last = is_time(sequence.back());
  const bool paired = length <= text || is_time(sequence[static_cast<size_t>(length - 2)]);
  if (last && paired) ForbidRange(scores, first, size);
  if (last && !paired) ForbidRange(scores, 0, end);
  if (found != sequence.end()) {
    const auto latest = std::ranges::find_if(sequence.rbegin(), sequence.rend(), is_time);
    ForbidRange(scores, first, int64_t{*latest} + (last && !paired ? 0 : 1));
  }
  if (length == text) ForbidRange(scores, first + kLatestFirst + 1, size);

  const auto words = scores.first(static_cast<size_t>(first)), times = scores.subspan(static_cast<size_t>(first));
  if (!words.empty() && LogOfSum(times) > *std::ranges::max_element(words)) ForbidRange(scores, 0, first);
}

}  // namespace tessera::cpu
