#include "cpu/ops/generation/beam_run.h"

#include <algorithm>

#include "base/checked.h"
#include "cpu/engine/softmax.h"

namespace tessera::cpu {
namespace {

/// Of beams but the first of each image, before the first token: beams that are alike must not all go the same way.
constexpr float kNotYet = -1e9f;

}  // namespace

BeamRun::BeamRun(KernelContext& context, const Tensor& begin, const TokenRules& tokens, const BeamRules& beams,
                 int64_t vocabulary)
    : context_(context),
      tokens_(tokens),
      beams_(beams),
      vocabulary_(vocabulary),
      batch_(begin.shape()[0]),
      rows_(CheckedMul(batch_, beams.beams)),
      sequences_(rows_, RepeatRows(begin, beams.beams, context.allocator()).values<int32_t>()),
      sums_(static_cast<size_t>(rows_), kNotYet),
      ended_(static_cast<size_t>(batch_)),
      final_(static_cast<size_t>(batch_)) {
  for (int64_t i = 0; i < batch_; ++i) sums_[static_cast<size_t>(i * beams_.beams)] = 0;
  scores_ = context.scratch<float>(static_cast<size_t>(CheckedMul(rows_, vocabulary_)));
}

void BeamRun::Search(Decoding& decoding, int64_t longest, float* all, std::vector<float>* first) {
  for (bool begins = true; sequences_.length() < longest; begins = false) {
    Score(decoding.Next(context_), begins, first);
    if (all != nullptr) all = std::ranges::copy(scores_, all).out;
    Choose();
    if (std::ranges::find(final_, false) == final_.end()) return;
    const std::span<const int32_t> sources =
        beams_.beams > 1 ? std::span<const int32_t>(sources_) : std::span<const int32_t>();
    if (sequences_.length() < longest) decoding.Advance(sequences_, next_, sources);
  }
}

std::span<const EndedBeams::Hypothesis> BeamRun::Finish(int64_t image) {
  EndedBeams& ended = ended_[static_cast<size_t>(image)];
  for (int64_t i = 0; !final_[static_cast<size_t>(image)] && i < beams_.beams; ++i) {
    const int64_t row = image * beams_.beams + i;
    ended.Add(beams_, sequences_[row], sums_[static_cast<size_t>(row)]);
  }
  return ended.hypotheses();
}

void BeamRun::Score(const Tensor& logits, bool first, std::vector<float>* probabilities) {
  LastLogits(logits, rows_, vocabulary_, scores_);
  SoftmaxAlong(context_, AxisView(rows_, vocabulary_, 1), scores_.data(), scores_.data(), /*log=*/true);
  if (first && probabilities != nullptr) probabilities->assign(scores_.begin(), scores_.end());
  context_.threads().ParallelFor(rows_, static_cast<double>(vocabulary_), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto row = scores_.subspan(static_cast<size_t>(i * vocabulary_), static_cast<size_t>(vocabulary_));
      tokens_.Apply(row, sequences_[i], i / beams_.beams, first);
      for (float& score : row) score += sums_[static_cast<size_t>(i)];
    }
  });
}

void BeamRun::Choose() {
  const auto size = static_cast<size_t>(beams_.beams * vocabulary_);
  std::vector<Candidate> candidates;
  for (size_t image = 0; image < final_.size(); ++image) {
    const auto best =
        BestCandidates(std::span<const float>(scores_).subspan(image * size, size), vocabulary_, 2 * beams_.beams);
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

void BeamRun::ChooseBeams(int64_t image, std::span<const Candidate> all) {
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
  // The best score is looked for where ONNX Runtime does, `beams` candidates for each image before this one instead of
  // twice as many: where searches end, and so what they find, has to be the same.
  const auto best = std::ranges::max_element(all.subspan(static_cast<size_t>(image * beams), count), {}, &Candidate::score);
  final_[static_cast<size_t>(image)] = ended.Final(beams_, best->score, sequences_.length());
}

}  // namespace tessera::cpu
