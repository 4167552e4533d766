#pragma once

// The beams of a beam search: which sequences go on, and which have ended.

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::cpu {

struct BeamRules {
  int64_t beams = 1;
  float length_penalty = 1;  // the exponent of a sequence's length, by whose power its score is divided
  bool early_stopping = false;
  int64_t end = -1;
  int64_t pad = -1;
};

/// A way to go on: `row` counts the image's beams.
struct Candidate {
  float score;
  int32_t row;
  int32_t token;
};

/// The 2 * beams best of the image's scores [beams, vocabulary], best first; of equal ones the first. NaN counts as the
/// least.
std::vector<Candidate> BestCandidates(std::span<const float> scores, int64_t vocabulary, int64_t count);

/// One image's sequences that have ended, best first, and no more than there are beams.
class EndedBeams {
 public:
  struct Hypothesis {
    float score;
    std::vector<int32_t> tokens;
  };

  /// `sum`: of the tokens' logarithmic probabilities.
  void Add(const BeamRules& rules, std::span<const int32_t> tokens, float sum);
  /// Whether no beam that goes on can become one of them; `best` is the best sum there is at this length.
  bool Final(const BeamRules& rules, float best, int64_t length) const;

  std::span<const Hypothesis> hypotheses() const { return hypotheses_; }

 private:
  std::vector<Hypothesis> hypotheses_;
};

}  // namespace tessera::cpu
