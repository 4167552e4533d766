#pragma once

// One run of a beam search: what was given, and how far it is.

#include <span>
#include <vector>

#include "cpu/ops/generation/beams.h"
#include "cpu/ops/generation/decoder.h"
#include "cpu/ops/generation/token_rules.h"

namespace tessera::cpu {

class BeamRun {
 public:
  /// `begin`: what sequences begin with, [batch, length].
  BeamRun(KernelContext& context, const Tensor& begin, const TokenRules& tokens, const BeamRules& beams,
          int64_t vocabulary);

  /// `all`: the scores of each step, or null. `first`: gets the logarithmic probabilities of the first step's tokens, or
  /// null.
  void Search(Decoding& decoding, int64_t longest, float* all, std::vector<float>* first);

  /// The image's sequences, best first.
  std::span<const EndedBeams::Hypothesis> Finish(int64_t image);

 private:
  void Score(const Tensor& logits, bool first, std::vector<float>* probabilities);
  void Choose();
  void ChooseBeams(int64_t image, std::span<const Candidate> all);

  KernelContext& context_;
  TokenRules tokens_;
  BeamRules beams_;
  int64_t vocabulary_, batch_, rows_;
  Sequences sequences_;
  std::vector<float> sums_;  // of each row
  std::vector<EndedBeams> ended_;
  std::vector<bool> final_;
  std::span<float> scores_;
  std::vector<int32_t> next_, sources_;
};

}  // namespace tessera::cpu
