// BeamSearch, com.microsoft, version 1: the best sequences by the sums of their tokens' logarithmic probabilities, of which several are
// pursued at once.

#include <algorithm>

#include "base/checked.h"
#include "engine/softmax.h"
#include "ops/generation/beams.h"
#include "ops/generation/decoder.h"
#include "ops/generation/search_inputs.h"

namespace tessera::cpu {
namespace {

/// Of beams but the first of each image, before the first token: beams that are alike must not all go the same way.
constexpr float kNotYet = -1e9f;

/// One run: what was given, and how far it is.
class BeamRun {
 public:
  BeamRun(KernelContext& context, const Decoder& decoder, TokenRules tokens, BeamRules beams, int64_t vocabulary)
      : context_(context), tokens_(tokens), beams_(beams), vocabulary_(vocabulary), batch_(context.required_input(0).shape()[0]),
        rows_(CheckedMul(batch_, beams.beams)), sequences_(Begin(context, decoder, beams.beams)), sums_(static_cast<size_t>(rows_), kNotYet),
        ended_(static_cast<size_t>(batch_)), final_(static_cast<size_t>(batch_)) {
    for (int64_t i = 0; i < batch_; ++i) sums_[static_cast<size_t>(i * beams_.beams)] = 0;
    scores_ = context.scratch<float>(static_cast<size_t>(CheckedMul(rows_, vocabulary_)));
  }

  int64_t length() const { return sequences_.length(); }

  /// `all`: the scores of each step, or null.
  void Search(Decoding& decoding, int64_t longest, float* all) {
    for (bool first = true; sequences_.length() < longest; first = false) {
      Score(decoding.Next(context_), first);
      if (all != nullptr) all = std::ranges::copy(scores_, all).out;
      Choose();
      if (std::ranges::find(final_, false) == final_.end()) return;
      const std::span<const int32_t> sources = beams_.beams > 1 ? std::span<const int32_t>(sources_) : std::span<const int32_t>();
      if (sequences_.length() < longest) decoding.Advance(sequences_, next_, sources);
    }
  }

  /// The image's sequences, best first.
  std::span<const EndedBeams::Hypothesis> Finish(int64_t image) {
    EndedBeams& ended = ended_[static_cast<size_t>(image)];
    for (int64_t i = 0; !final_[static_cast<size_t>(image)] && i < beams_.beams; ++i) {
      const int64_t row = image * beams_.beams + i;
      ended.Add(beams_, sequences_[row], sums_[static_cast<size_t>(row)]);
    }
    return ended.hypotheses();
  }

 private:
  static Sequences Begin(const KernelContext& context, const Decoder& decoder, int64_t beams) {
    const Tensor& ids = context.required_input(0);
    const std::vector<int32_t> tokens = decoder.Begin(ids);
    const int64_t batch = ids.shape()[0], length = static_cast<int64_t>(tokens.size()) / batch;
    return Sequences(batch * beams, RepeatRows(Tensor::Of<int32_t>({batch, length}, std::span<const int32_t>(tokens)), beams).values<int32_t>());
  }

  void Score(const Tensor& logits, bool first) {
    LastLogits(logits, rows_, vocabulary_, scores_);
    SoftmaxAlong(context_, AxisView(rows_, vocabulary_, 1), scores_.data(), scores_.data(), /*log=*/true);
    context_.threads().ParallelFor(rows_, static_cast<double>(vocabulary_), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto row = scores_.subspan(static_cast<size_t>(i * vocabulary_), static_cast<size_t>(vocabulary_));
        tokens_.Apply(row, sequences_[i], i / beams_.beams, first);
        for (float& score : row) score += sums_[static_cast<size_t>(i)];
      }
    });
  }

  void Choose() {
    const auto size = static_cast<size_t>(beams_.beams * vocabulary_);
    std::vector<Candidate> candidates;
    for (size_t image = 0; image < final_.size(); ++image) {
      const auto best = BestCandidates(std::span<const float>(scores_).subspan(image * size, size), vocabulary_, 2 * beams_.beams);
      candidates.insert(candidates.end(), best.begin(), best.end());
    }
    next_.assign(static_cast<size_t>(rows_), static_cast<int32_t>(beams_.pad));
    sources_.assign(static_cast<size_t>(rows_), 0);
    std::ranges::fill(sums_, 0.0f);
    for (int64_t image = 0; image < batch_; ++image) {
      if (!final_[static_cast<size_t>(image)]) ChooseBeams(image, candidates);
    }
    sequences_.Append(next_, sources_);
  }

  void ChooseBeams(int64_t image, std::span<const Candidate> all) {
    const int64_t beams = beams_.beams;
    const auto count = static_cast<size_t>(2 * beams);
    const auto candidates = all.subspan(static_cast<size_t>(image) * count, count);
    EndedBeams& ended = ended_[static_cast<size_t>(image)];
    int64_t chosen = 0;
    for (int64_t i = 0; i < 2 * beams && chosen < beams; ++i) {
      const Candidate& candidate = candidates[static_cast<size_t>(i)];
      const int64_t source = image * beams + candidate.row;
      if (candidate.token == beams_.end) {
        if (i < beams) ended.Add(beams_, sequences_[source], candidate.score);
        continue;
      }
      const auto row = static_cast<size_t>(image * beams + chosen++);
      next_[row] = candidate.token;
      sources_[row] = static_cast<int32_t>(source);
      sums_[row] = candidate.score;
    }
    // The best score is looked for where ONNX Runtime does, `beams` candidates for each image before this one instead of twice as many: where
    // searches end, and so what they find, has to be the same.
    const auto best = std::ranges::max_element(all.subspan(static_cast<size_t>(image * beams), count), {}, &Candidate::score);
    final_[static_cast<size_t>(image)] = ended.Final(beams_, best->score, sequences_.length());
  }

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

class BeamSearch final : public Kernel {
 public:
  explicit BeamSearch(const KernelInfo& info)
      : inputs_(info.num_inputs()),
        decoder_(MakeDecoder(info)),
        end_(TokenAttribute(info, "eos_token_id")),
        no_repeat_ngram_size_(info.attribute<int64_t>("no_repeat_ngram_size", 0)),
        early_stopping_(info.attribute<int64_t>("early_stopping", 0) == 1),
        vocabulary_(VocabularyOf(info, *decoder_)) {
    // Else there may be fewer ways to go on than beams.
    Require(vocabulary_ > 1, "the vocabulary has {} tokens; 2 are expected at least", vocabulary_);
    for (const size_t unused : {10, 11}) {
      Require(!info.has_input(unused), "input {} is for model_type 2 only, Whisper, which is not supported", unused);
    }
  }

  void Compute(KernelContext& context) override {
    const SearchInputs inputs(context, inputs_);
    const Tensor& ids = inputs.ids();
    const int64_t batch = ids.shape()[0], prompt = batch > 0 ? static_cast<int64_t>(decoder_->Begin(ids).size()) / batch : 1;
    const int64_t longest = inputs.MaxLength(prompt);
    const BeamRules beams = Beams(inputs);
    const int64_t count = inputs.Scalar<int32_t>(4, "num_return_sequences").value_or(1);
    Require(count >= 1 && count <= beams.beams, "num_return_sequences is {}; 1 to num_beams, {}, are expected", count, beams.beams);
    TokenRules tokens = inputs.Rules(6, vocabulary_, end_);
    tokens.no_repeat_ngram_size = no_repeat_ngram_size_;
    Tensor* sequences = context.output(0, {batch, count, longest});
    Tensor* sums = context.output(1, {batch, count});
    Tensor* scores = context.output(2, {longest - prompt, batch, beams.beams, vocabulary_});
    if (scores != nullptr) std::ranges::fill(scores->mutable_values<float>(), 0.0f);  // of steps that are not needed
    if (batch == 0) return;

    BeamRun run(context, *decoder_, tokens, beams, vocabulary_);
    run.Search(*decoder_->Start(ids, inputs[9], beams.beams), longest, scores == nullptr ? nullptr : scores->mutable_data<float>());
    if (sequences != nullptr) std::ranges::fill(sequences->mutable_values<int32_t>(), static_cast<int32_t>(decoder_->pad()));
    for (int64_t i = 0; i < batch; ++i) {
      const auto best = run.Finish(i).first(static_cast<size_t>(count));
      for (int64_t j = 0; j < count; ++j) {
        const auto& hypothesis = best[static_cast<size_t>(j)];
        if (sequences != nullptr) std::ranges::copy(hypothesis.tokens, sequences->mutable_data<int32_t>() + (i * count + j) * longest);
        if (sums != nullptr) sums->mutable_data<float>()[i * count + j] = hypothesis.score;
      }
    }
  }

 private:
  BeamRules Beams(const SearchInputs& inputs) const {
    constexpr int32_t kMost = 128;
    const int32_t beams = inputs.Scalar<int32_t>(3, "num_beams").value_or(1);
    Require(beams >= 1 && beams <= kMost, "num_beams is {}; 1 to {} are expected", beams, kMost);
    return {beams, inputs.Scalar<float>(5, "length_penalty").value_or(1.0f), early_stopping_, end_, decoder_->pad()};
  }

  size_t inputs_;
  std::unique_ptr<Decoder> decoder_;
  int64_t end_, no_repeat_ngram_size_;
  bool early_stopping_;
  int64_t vocabulary_;
};

}  // namespace

void RegisterBeamSearch(KernelRegistry& registry) {
  registry.Add(Op("BeamSearch", "com.microsoft").Types(0, {ElementType::kInt32}).OutputTypes(1, {ElementType::kFloat})
                   .OutputTypes(2, {ElementType::kFloat}).Make<BeamSearch>());
}

}  // namespace tessera::cpu
