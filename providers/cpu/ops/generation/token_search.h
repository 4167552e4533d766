#pragma once

// What GreedySearch and Sampling share: one sequence for each image, token by token.

#include <memory>
#include <span>
#include <vector>

#include "cpu/ops/generation/decoder.h"
#include "cpu/ops/generation/search_inputs.h"
#include "tessera/provider/function_ref.h"

namespace tessera::cpu {

class TokenSearch : public Kernel {
 public:
  explicit TokenSearch(const KernelInfo& info);

 protected:
  /// Chooses a token for each row of the scores [rows, vocabulary], which it may change.
  using Choice = FunctionRef<void(std::span<float> scores, std::span<int32_t> tokens)>;

  SearchInputs Inputs(const KernelContext& context) const { return SearchInputs(context, inputs_); }
  /// What inputs 2 to 6 and the attributes of all searches say.
  TokenRules Rules(const KernelContext& context) const;
  /// Computes output 0.
  void Search(KernelContext& context, const TokenRules& rules, Choice choose) const;

  int64_t vocabulary() const { return vocabulary_; }

 private:
  Sequences Generate(KernelContext& context, const TokenRules& rules, int64_t longest, Choice choose) const;

  size_t inputs_;
  std::unique_ptr<Decoder> decoder_;
  int64_t vocabulary_, end_, no_repeat_ngram_size_;
};

}  // namespace tessera::cpu
