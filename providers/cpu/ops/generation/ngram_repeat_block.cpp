// NGramRepeatBlock, com.microsoft, version 1: scores of tokens that would repeat an n-gram of their sequence become -inf.

#include <limits>
#include <span>

#include "base/cancellation.h"
#include "base/check.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/generation/repeated_ngrams.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {
namespace {

class NGramRepeatBlock final : public Kernel {
 public:
  explicit NGramRepeatBlock(const KernelInfo& info) : size_(info.attribute<int64_t>("ngram_size")) {
    Require(size_ > 0, "ngram_size is {}, a positive number is expected", size_);
  }

  void Compute(KernelContext& context) override {
    const Tensor& ids = context.required_input(0);
    const Tensor& scores = context.required_input(1);
    Require(ids.shape().rank() == 2 && scores.shape().rank() == 2 && ids.shape()[0] == scores.shape()[0],
            "input_ids and scores are {} and {}; [batch,length] and [batch,vocabulary] are expected", ids.shape(),
            scores.shape());
    Tensor* output = context.output(0, scores.shape());
    if (output == nullptr) return;
    CopyUnlessInPlace(context.threads(), scores, *output);
    const int64_t length = ids.shape()[1], vocabulary = scores.shape()[1];
    PacedCancellationPoint look(3);
    for (int64_t row = 0; row < ids.shape()[0]; ++row) {
      look.Pass(length + 5);
      Block({ids.data<int64_t>() + row * length, static_cast<size_t>(length)},
            {output->mutable_data<float>() + row * vocabulary, static_cast<size_t>(vocabulary)});
    }
  }

 private:
  void Block(std::span<const int64_t> ids, std::span<float> scores) const {
    ForEachRepeatedNgram(ids, size_, [&](int64_t token) {
      Require(token >= 0 && static_cast<size_t>(token) < scores.size(), "token {} is outside the vocabulary of {}", token,
              scores.size());
      scores[static_cast<size_t>(token)] = -std::numeric_limits<float>::infinity();
    });
  }

  int64_t size_;
};

}  // namespace

void RegisterNGramRepeatBlock(KernelRegistry& registry) {
  registry.Add(Op("NGramRepeatBlock", "com.microsoft")
                   .Types(0, {ElementType::kInt64})
                   .Types(1, {ElementType::kFloat})
                   .InPlace(1, 0)
                   .Make<NGramRepeatBlock>());
}

}  // namespace tessera::cpu
