// VarlenNGramHashMapping, com.microsoft, version 1: NGramHashMapping of sequences that lie one after the other.

#include "base/cancellable_memory.h"
#include "cpu/ops/generation/ngram_hash.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

constexpr size_t kLengths = 3, kPast = 4, kOffsets = 5, kEnd = 6, kSegments = 7, kPastSegments = 8, kCaptured = 9;

template <class T>
class VarlenNGramHashMapping final : public Kernel {
 public:
  explicit VarlenNGramHashMapping(const KernelInfo& info)
      : hash_(info), capacity_(info.attribute<int64_t>("state_update_capacity", 0)) {
    Require(capacity_ >= 0 && capacity_ <= 8, "state_update_capacity is {}; 0 to 8 are expected", capacity_);
    Require(info.has_input(kCaptured) == (capacity_ > 0), "state_update_capacity is {}, capture_count is {}", capacity_,
            info.has_input(kCaptured) ? "given" : "left out");
    Require(info.has_input(kSegments) || !(info.has_input(kPastSegments) || info.has_output(2)),
            "past_segment_ids or present_segment_ids is there without segment_ids");
  }

  void Compute(KernelContext& context) override {
    const int64_t total = TotalOf(context), batch = context.required_input(kLengths).num_elements() - 1,
                  reach = hash_.reach();
    RequireShape(context.input(kPast), "past_ids", {batch, reach});
    RequireShape(context.input(kSegments), "segment_ids", {total});
    RequireShape(context.input(kPastSegments), "past_segment_ids", {batch, reach});
    RequireShape(context.input(kCaptured), "capture_count", {batch});
    const auto inputs = hash_.Read(context, context.input(kOffsets), context.input(kEnd));
    Tensor* hashes = context.output(0, {total, hash_.heads()});
    Tensor* present = context.output(1, {batch, reach});
    Tensor* present_segments = context.output(2, {batch, reach});
    Tensor* states = context.output(3, {batch, capacity_, reach});
    const int32_t* borders = context.required_input(kLengths).data<int32_t>();
    for (int64_t i = 0; i < batch; ++i) {
      const int64_t begin = borders[i], length = borders[i + 1] - begin;
      const TokenSequence<T> sequence{PartOf<T>(context.input(0), begin, length),
                                      PartOf<T>(context.input(kPast), i * reach, reach),
                                      PartOf<int32_t>(context.input(kSegments), begin, length),
                                      PartOf<int32_t>(context.input(kPastSegments), i * reach, reach)};
      if (hashes != nullptr) hash_.Compute(context, sequence, inputs, hashes->mutable_data<T>() + begin * hash_.heads());
      const ExtendedTokens<T> tokens = hash_.Extended(sequence, inputs);
      if (present != nullptr) tokens.Copy(tokens.size() - reach, reach, present->mutable_data<T>() + i * reach);
      if (present_segments != nullptr) CopySegments(sequence, present_segments->mutable_data<int32_t>() + i * reach);
      if (states == nullptr || capacity_ == 0) continue;
      const int64_t captured =
          std::clamp<int64_t>(context.input(kCaptured)->template data<int32_t>()[i], 0, std::min(length, capacity_));
      T* state = states->mutable_data<T>() + i * capacity_ * reach;
      FillCancellably(state, capacity_ * reach, hash_.pad());
      for (int64_t j = 0; j < captured; ++j) {
        CountWork(static_cast<double>(reach));
        tokens.Copy(j + 1, reach, state + j * reach);
      }
    }
  }

 private:
  /// Of the tokens; the borders between sequences are checked.
  static int64_t TotalOf(const KernelContext& context) {
    const Shape& shape = context.required_input(0).shape();
    const Tensor& lengths = context.required_input(kLengths);
    Require(shape.rank() == 1 && lengths.shape().rank() == 1 && lengths.shape()[0] >= 2,
            "input_ids and cumulative_sequence_length are {} and {}; [tokens] and [batch + 1] are expected", shape,
            lengths.shape());
    const auto borders = lengths.values<int32_t>();
    Require(borders.front() == 0 && borders.back() == shape[0], "sequences go from {} to {}; 0 to {} is expected",
            borders.front(), borders.back(), shape[0]);
    for (size_t i = 1; i < borders.size(); ++i) {
      Require(borders[i] > borders[i - 1], "sequence {} goes from {} to {}; a token is expected at least", i - 1,
              borders[i - 1], borders[i]);
    }
    return shape[0];
  }

  /// The last ones; before the first there is the past, or more of the first.
  void CopySegments(const TokenSequence<T>& sequence, int32_t* present) const {
    const auto& past = sequence.past_segments;
    const int64_t reach = hash_.reach(), missing = reach - static_cast<int64_t>(sequence.segments.size());
    for (int64_t j = 0; j < reach; ++j) {
      if (j >= missing) present[j] = sequence.segments[static_cast<size_t>(j - missing)];
      else present[j] = past.empty() ? sequence.segments.front() : past[static_cast<size_t>(j + reach - missing)];
    }
  }

  NGramHash<T> hash_;
  int64_t capacity_;
};

}  // namespace

void RegisterVarlenNGramHashMapping(KernelRegistry& registry) {
  registry.Add(Op("VarlenNGramHashMapping", "com.microsoft")
                   .Types(0, {ElementType::kInt32, ElementType::kInt64})
                   .Factory(MakeTyped<VarlenNGramHashMapping, TypeList<int32_t, int64_t>>));
}

}  // namespace tessera::cpu
