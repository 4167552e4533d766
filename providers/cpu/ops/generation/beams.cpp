#include "cpu/ops/generation/beams.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::cpu {

std::vector<Candidate> BestCandidates(std::span<const float> scores, int64_t vocabulary, int64_t count) {
  const auto most = static_cast<size_t>(count);
  std::vector<Candidate> best;
  best.reserve(most + 1);
  for (size_t i = 0; i < scores.size(); ++i) {
    const float score = std::isnan(scores[i]) ? -std::numeric_limits<float>::infinity() : scores[i];
    if (best.size() == most && !(score > best.back().score)) continue;
    const auto at = std::ranges::find_if(best, [&](const Candidate& other) { return score > other.score; });
    const auto candidate = static_cast<int64_t>(i);
    best.insert(at, {score, static_cast<int32_t>(candidate / vocabulary), static_cast<int32_t>(candidate % vocabulary)});
    if (best.size() > most) best.pop_back();
  }
  return best;
}

void EndedBeams::Add(const BeamRules& rules, std::span<const int32_t> tokens, float sum) {
  const float score = sum / std::pow(static_cast<float>(tokens.size()), rules.length_penalty);
  const bool full = static_cast<int64_t>(hypotheses_.size()) == rules.beams;
  if (full && !(score > hypotheses_.back().score)) return;
  if (full) hypotheses_.pop_back();
  const auto at = std::ranges::find_if(hypotheses_, [&](const Hypothesis& other) { return score > other.score; });
  hypotheses_.insert(at, {score, {tokens.begin(), tokens.end()}});
}

bool EndedBeams::Final(const BeamRules& rules, float best, int64_t length) const {
  if (static_cast<int64_t>(hypotheses_.size()) < rules.beams) return false;
  if (rules.early_stopping) return true;
  return !(hypotheses_.back().score < best / std::pow(static_cast<float>(length), rules.length_penalty));
}

}  // namespace tessera::cpu
