// BifurcationDetector, com.microsoft, version 1: a step of aggressive decoding. Predictions are taken up to the first one
// that differs from the source, and the end of what results is looked for in the source.

#include <algorithm>
#include <span>

#include "base/cancellable_memory.h"
#include "base/check.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {
namespace {

using Tokens = std::span<const int64_t>;

/// Behind the only place where an n-gram of the largest size possible lies in `source`, the n-gram being the end of
/// `tokens`; -1 when there is none or the source has it twice. A longer n-gram that is missing leaves the result of the
/// shorter one.
int64_t FindEnd(Tokens source, Tokens tokens, int64_t smallest, int64_t largest) {
  int64_t found = -1;
  PacedCancellationPoint look(2);
  const auto same = [&](int64_t a, int64_t b) {
    look.Pass();
    return a == b;
  };
  for (int64_t size = smallest; size <= std::min(largest, static_cast<int64_t>(tokens.size())); ++size) {
    const Tokens end = tokens.last(static_cast<size_t>(size));
    const auto first = std::search(source.begin(), source.end(), end.begin(), end.end(), same);
    if (first == source.end()) break;
    found = first - source.begin() + size;
    if (found >= static_cast<int64_t>(source.size())) break;
    if (std::search(first + 1, source.end(), end.begin(), end.end(), same) != source.end()) found = -1;
  }
  return found;
}

class BifurcationDetector final : public Kernel {
 public:
  explicit BifurcationDetector(const KernelInfo& info)
      : smallest_(info.attribute<int64_t>("min_ngram_size", 1)), largest_(info.attribute<int64_t>("max_ngram_size", 3)) {
    Require(smallest_ > 0 && largest_ >= smallest_, "n-grams of {} to {} tokens are asked for", smallest_, largest_);
  }

  void Compute(KernelContext& context) override {
    const Tokens source = TokensOf(context, 0, "src_tokens"), current = TokensOf(context, 1, "cur_tokens");
    const Tensor& previous = context.required_input(2);
    Require(previous.num_elements() == 1, "prev_suffix_match_idx is {}; one number is expected", previous.shape());
    Tokens accepted;
    if (context.input(3) != nullptr)
      accepted = Accepted(source, TokensOf(context, 3, "pred_tokens"), *previous.data<int64_t>());
    // Not the output, which may be left out.
    const auto tokens = context.scratch<int64_t>(current.size() + accepted.size());
    CopyCancellably(tokens.data(), current.data(), static_cast<int64_t>(current.size()));
    CopyCancellably(tokens.data() + current.size(), accepted.data(), static_cast<int64_t>(accepted.size()));
    if (Tensor* output = context.output(0, {static_cast<int64_t>(tokens.size())}); output != nullptr) {
      CopyCancellably(output->mutable_data<int64_t>(), tokens.data(), static_cast<int64_t>(tokens.size()));
    }
    if (Tensor* index = context.output(1, previous.shape()); index != nullptr) {
      *index->mutable_data<int64_t>() = FindEnd(source, tokens, smallest_, largest_);
    }
  }

 private:
  static Tokens TokensOf(const KernelContext& context, size_t input, const char* name) {
    const Tensor& tokens = context.required_input(input);
    Require(tokens.shape().rank() == 1, "{} is {}; one dimension is expected", name, tokens.shape());
    return tokens.values<int64_t>();
  }

  /// One prediction for each token of the source from `begin` on, and one more.
  static Tokens Accepted(Tokens source, Tokens predicted, int64_t begin) {
    const auto length = static_cast<int64_t>(source.size());
    Require(begin >= 0 && begin <= length, "prev_suffix_match_idx is {}; the source has {} tokens", begin, length);
    const Tokens rest = source.subspan(static_cast<size_t>(begin));
    Require(predicted.size() == rest.size() + 1, "pred_tokens has {} tokens; {} are expected", predicted.size(),
            rest.size() + 1);
    size_t same = 0;
    for (PacedCancellationPoint look(1); same < rest.size() && rest[same] == predicted[same]; ++same) look.Pass();
    return predicted.first(same + 1);
  }

  int64_t smallest_, largest_;
};

}  // namespace

void RegisterBifurcationDetector(KernelRegistry& registry) {
  registry.Add(Op("BifurcationDetector", "com.microsoft").Make<BifurcationDetector>());
}

}  // namespace tessera::cpu
