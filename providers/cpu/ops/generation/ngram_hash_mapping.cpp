// NGramHashMapping, com.microsoft, version 1: hashes of the n-grams that end at each token, for tables of embeddings
// (Engram).

#include "cpu/ops/generation/ngram_hash.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

template <class T>
class NGramHashMapping final : public Kernel {
 public:
  explicit NGramHashMapping(const KernelInfo& info) : hash_(info) {}

  void Compute(KernelContext& context) override {
    const Tensor& ids = context.required_input(0);
    const Shape& shape = ids.shape();
    Require(shape.rank() == 2, "input_ids is {}; [batch,length] is expected", shape);
    const Tensor* past = context.input(3);
    const Tensor* segments = context.input(6);
    const int64_t batch = shape[0], length = shape[1], reach = hash_.reach();
    RequireShape(past, "past_ids", {batch, reach});
    RequireShape(segments, "segment_ids", shape);
    const auto inputs = hash_.Read(context, context.input(4), context.input(5));
    Tensor* hashes = context.output(0, {batch, length, hash_.heads()});
    Tensor* present = context.output(1, {batch, reach});
    for (int64_t i = 0; i < batch; ++i) {
      const TokenSequence<T> sequence{PartOf<T>(&ids, i * length, length),
                                      PartOf<T>(past, i * reach, reach),
                                      PartOf<int32_t>(segments, i * length, length),
                                      {}};
      if (hashes != nullptr)
        hash_.Compute(context, sequence, inputs, hashes->mutable_data<T>() + i * length * hash_.heads());
      if (present == nullptr) continue;
      const ExtendedTokens<T> tokens = hash_.Extended(sequence, inputs);
      tokens.Copy(tokens.size() - reach, reach, present->mutable_data<T>() + i * reach);
    }
  }

 private:
  NGramHash<T> hash_;
};

}  // namespace

void RegisterNGramHashMapping(KernelRegistry& registry) {
  registry.Add(Op("NGramHashMapping", "com.microsoft")
                   .Types(0, {ElementType::kInt32, ElementType::kInt64})
                   .Factory(MakeTyped<NGramHashMapping, TypeList<int32_t, int64_t>>));
}

}  // namespace tessera::cpu
