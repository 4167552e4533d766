#pragma once

// What BeamSearch and WhisperBeamSearch share.

#include <memory>
#include <vector>

#include "cpu/ops/generation/beam_run.h"

namespace tessera::cpu {

class BeamSearchKernel : public Kernel {
 public:
  BeamSearchKernel(const KernelInfo& info, std::unique_ptr<Decoder> decoder);

 protected:
  SearchInputs Inputs(const KernelContext& context) const { return SearchInputs(context, inputs_); }
  /// What inputs 2 and 6 to 9 and the attributes say.
  TokenRules Rules(const KernelContext& context) const;
  /// Computes outputs 0 to 2. `first`: gets the logarithmic probabilities of the first step's tokens, [batch, beams,
  /// vocabulary], or null.
  void Search(KernelContext& context, const TokenRules& tokens, std::vector<float>* first) const;

  int64_t vocabulary() const { return vocabulary_; }

 private:
  BeamRules Beams(const SearchInputs& inputs) const;

  size_t inputs_;
  std::unique_ptr<Decoder> decoder_;
  int64_t end_, no_repeat_ngram_size_;
  bool early_stopping_;
  int64_t vocabulary_;
};

}  // namespace tessera::cpu
