#pragma once

// What searches do to the scores of next tokens before they choose.

#include <cstdint>
#include <span>

namespace tessera::cpu {

/// Whisper's tokens of times. They come in pairs but for the first, do not go back, and replace text where they are
/// likelier together.
struct TimestampRules {
  int64_t start, end, translate, transcribe, start_of_text, no_timestamps;
  int64_t first;  // of the timestamps, which all tokens from here on are

  void Apply(std::span<float> scores, std::span<const int32_t> sequence) const;
};

struct TokenRules {
  float repetition_penalty = 1;
  int64_t no_repeat_ngram_size = 0;
  std::span<const int32_t> vocabulary_mask;  // [vocabulary]; empty: none
  std::span<const int32_t> prefix_mask;      // [batch, vocabulary], for the first tokens
  int64_t min_length = 0;                    // of whole sequences; the end is not allowed before
  int64_t end = -1;
  float temperature = 1;
  std::span<const int32_t> presence_mask;  // [batch, vocabulary]: what `presence_penalty` is taken from, so often
  float presence_penalty = 0;
  const TimestampRules* timestamps = nullptr;

  /// For one sequence, the `image`-th of the batch. `first`: nothing was generated yet. Tokens without a score, as of
  /// padding, are passed over.
  void Apply(std::span<float> scores, std::span<const int32_t> sequence, int64_t image, bool first) const;
};

}  // namespace tessera::cpu
