#include "cpu/ops/generation/token_search.h"

#include <algorithm>

#include "base/checked.h"

namespace tessera::cpu {

TokenSearch::TokenSearch(const KernelInfo& info)
    : inputs_(info.num_inputs()),
      end_(TokenAttribute(info, "eos_token_id")),
      no_repeat_ngram_size_(info.attribute<int64_t>("no_repeat_ngram_size", 0)) {
  const auto type = info.attribute<int64_t>("model_type", 0);
  Require(type == 0, "model_type is {}; this search is defined for decoders as GPT-2, 0", type);
  decoder_ = MakeGptDecoder(info);
  vocabulary_ = VocabularyOf(info, *decoder_);
}

TokenRules TokenSearch::Rules(const KernelContext& context) const {
  PromptOf(Inputs(context));
  TokenRules rules = Inputs(context).Rules(3, vocabulary_, end_);
  rules.no_repeat_ngram_size = no_repeat_ngram_size_;
  return rules;
}

void TokenSearch::Search(KernelContext& context, const TokenRules& rules, Choice choose) const {
  const Shape& shape = PromptOf(Inputs(context)).shape();
  const int64_t batch = shape[0], longest = Inputs(context).MaxLength(shape[1]);
  const Sequences sequences = batch > 0 ? Generate(context, rules, longest, choose) : Sequences(0, {});
  Tensor* output = context.output(0, {batch, longest});
  if (output == nullptr) return;
  std::ranges::fill(output->mutable_values<int32_t>(), static_cast<int32_t>(decoder_->pad()));
  for (int64_t i = 0; i < batch; ++i) std::ranges::copy(sequences[i], output->mutable_data<int32_t>() + i * longest);
}

Sequences TokenSearch::Generate(KernelContext& context, const TokenRules& rules, int64_t longest, Choice choose) const {
  const Tensor& ids = context.required_input(0);
  const int64_t rows = ids.shape()[0];
  Sequences sequences(rows, ids.values<int32_t>());
  const auto decoding = decoder_->Start(Inputs(context), 6, 1);
  const auto scores = context.scratch<float>(static_cast<size_t>(CheckedMul(rows, vocabulary_)));
  std::vector<int32_t> tokens(static_cast<size_t>(rows));
  std::vector<bool> ended(static_cast<size_t>(rows));
  for (bool first = true; sequences.length() < longest; first = false) {
    LastLogits(decoding->Next(context), rows, vocabulary_, scores);
    context.threads().ParallelFor(rows, static_cast<double>(vocabulary_), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        rules.Apply(scores.subspan(static_cast<size_t>(i * vocabulary_), static_cast<size_t>(vocabulary_)), sequences[i], i,
                    first);
      }
    });
    choose(scores, tokens);
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i] == end_) ended[i] = true;
      if (ended[i]) tokens[i] = static_cast<int32_t>(decoder_->pad());
    }
    sequences.Append(tokens);
    if (std::ranges::find(ended, false) == ended.end()) break;
    if (sequences.length() < longest) decoding->Advance(sequences, tokens, {});
  }
  return sequences;
}

}  // namespace tessera::cpu
