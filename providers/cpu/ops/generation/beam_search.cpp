// BeamSearch, com.microsoft, version 1: the best sequences by the sums of their tokens' logarithmic probabilities, of which
// several are pursued at once.

#include "cpu/ops/generation/beam_search.h"

#include <algorithm>

#include "base/check.h"

namespace tessera::cpu {

BeamSearchKernel::BeamSearchKernel(const KernelInfo& info, std::unique_ptr<Decoder> decoder)
    : inputs_(info.num_inputs()),
      decoder_(std::move(decoder)),
      end_(TokenAttribute(info, "eos_token_id")),
      no_repeat_ngram_size_(info.attribute<int64_t>("no_repeat_ngram_size", 0)),
      early_stopping_(info.attribute<int64_t>("early_stopping", 0) == 1),
      vocabulary_(VocabularyOf(info, *decoder_)) {
  // Else there may be fewer ways to go on than beams.
  Require(vocabulary_ > 1, "the vocabulary has {} tokens; 2 are expected at least", vocabulary_);
}

TokenRules BeamSearchKernel::Rules(const KernelContext& context) const {
  decoder_->Begin(Inputs(context));  // checks input 0
  TokenRules rules = Inputs(context).Rules(6, vocabulary_, end_);
  rules.no_repeat_ngram_size = no_repeat_ngram_size_;
  return rules;
}

BeamRules BeamSearchKernel::Beams(const SearchInputs& inputs) const {
  constexpr int32_t kMost = 128;
  const int32_t beams = inputs.Scalar<int32_t>(3, "num_beams").value_or(1);
  Require(beams >= 1 && beams <= kMost, "num_beams is {}; 1 to {} are expected", beams, kMost);
  return {beams, inputs.Scalar<float>(5, "length_penalty").value_or(1.0f), early_stopping_, end_, decoder_->pad()};
}

void BeamSearchKernel::Search(KernelContext& context, const TokenRules& tokens, std::vector<float>* first) const {
  const SearchInputs inputs = Inputs(context);
  const Tensor begin = decoder_->Begin(inputs);
  const int64_t batch = begin.shape()[0], longest = inputs.MaxLength(begin.shape()[1]);
  const BeamRules beams = Beams(inputs);
  const int64_t count = inputs.Scalar<int32_t>(4, "num_return_sequences").value_or(1);
  Require(count >= 1 && count <= beams.beams, "num_return_sequences is {}; 1 to num_beams, {}, are expected", count,
          beams.beams);
  Tensor* sequences = context.output(0, {batch, count, longest});
  Tensor* sums = context.output(1, {batch, count});
  Tensor* scores = context.output(2, {longest - begin.shape()[1], batch, beams.beams, vocabulary_});
  if (scores != nullptr) std::ranges::fill(scores->mutable_values<float>(), 0.0f);  // of steps that are not needed
  if (batch == 0) return;

  BeamRun run(context, begin, tokens, beams, vocabulary_);
  run.Search(*decoder_->Start(inputs, 9, beams.beams), longest, scores == nullptr ? nullptr : scores->mutable_data<float>(),
             first);
  if (sequences != nullptr) std::ranges::fill(sequences->mutable_values<int32_t>(), static_cast<int32_t>(decoder_->pad()));
  for (int64_t i = 0; i < batch; ++i) {
    const auto best = run.Finish(i).first(static_cast<size_t>(count));
    for (int64_t j = 0; j < count; ++j) {
      const auto& hypothesis = best[static_cast<size_t>(j)];
      if (sequences != nullptr)
        std::ranges::copy(hypothesis.tokens, sequences->mutable_data<int32_t>() + (i * count + j) * longest);
      if (sums != nullptr) sums->mutable_data<float>()[i * count + j] = hypothesis.score;
    }
  }
}

namespace {

std::unique_ptr<Decoder> DecoderByType(const KernelInfo& info) {
  const auto type = info.attribute<int64_t>("model_type", 0);
  Require(type == 0 || type == 1, "model_type is {}; 0 (a decoder as GPT-2) or 1 (encoder and decoder as T5) is expected",
          type);
  return type == 0 ? MakeGptDecoder(info) : MakeT5Decoder(info);
}

class BeamSearch final : public BeamSearchKernel {
 public:
  explicit BeamSearch(const KernelInfo& info) : BeamSearchKernel(info, DecoderByType(info)) {
    for (const size_t unused : {10, 11}) Require(!info.has_input(unused), "input {} is for WhisperBeamSearch only", unused);
  }

  void Compute(KernelContext& context) override { Search(context, Rules(context), nullptr); }
};

}  // namespace

void RegisterBeamSearch(KernelRegistry& registry) {
  registry.Add(Op("BeamSearch", "com.microsoft")
                   .Types(0, {ElementType::kInt32})
                   .OutputTypes(1, {ElementType::kFloat})
                   .OutputTypes(2, {ElementType::kFloat})
                   .Make<BeamSearch>());
}

}  // namespace tessera::cpu
