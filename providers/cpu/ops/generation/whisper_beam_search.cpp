// WhisperBeamSearch, com.microsoft, version 1: a beam search whose encoder takes features of sounds, with rules for
// timestamps. Products of queries and keys (cross_qk) are not among its outputs here.

#include <cmath>

#include "base/check.h"
#include "cpu/ops/generation/beam_search.h"

namespace tessera::cpu {
namespace {

class WhisperBeamSearch final : public BeamSearchKernel {
 public:
  explicit WhisperBeamSearch(const KernelInfo& info)
      : BeamSearchKernel(info, MakeWhisperDecoder(info)),
        timestamps_{TokenAttribute(info, "decoder_start_token_id"),      TokenAttribute(info, "eos_token_id"),
                    TokenAttribute(info, "translate_token_id"),          TokenAttribute(info, "transcribe_token_id"),
                    TokenAttribute(info, "start_of_lm_token_id"),        TokenAttribute(info, "no_timestamps_token_id"),
                    TokenAttribute(info, "beginning_timestamp_token_id")},
        no_speech_(TokenAttribute(info, "no_speech_token_id")) {
    const auto type = info.attribute<int64_t>("model_type", 2);
    Require(type == 2, "model_type is {}; 2 is expected", type);
    Require(info.attribute<int64_t>("decoder_output_cross_qk", 0) == 0 && !info.has_output(3),
            "cross_qk is asked for, which is not supported");
    Require(!info.has_output(4) || (no_speech_ >= 0 && no_speech_ < vocabulary()),
            "no_speech_token_id is {}, the vocabulary has {} tokens", no_speech_, vocabulary());
  }

  void Compute(KernelContext& context) override {
    const SearchInputs inputs = Inputs(context);
    TokenRules rules = Rules(context);
    rules.temperature = inputs.Scalar<float>(14, "temperature").value_or(1.0f);
    const int32_t processor = inputs.Scalar<int32_t>(11, "logits_processor").value_or(0);
    Require(processor == 0 || processor == 1, "logits_processor is {}; 0 (none) or 1 (timestamps) is expected", processor);
    if (processor == 1) {
      Require(timestamps_.first >= 0 && timestamps_.first < vocabulary(),
              "beginning_timestamp_token_id is {}, the vocabulary has {} tokens", timestamps_.first, vocabulary());
      rules.timestamps = &timestamps_;
    }
    const int64_t batch = inputs.batch();
    Tensor* silence = context.output(4, {batch});
    std::vector<float> first;
    Search(context, rules, silence == nullptr ? nullptr : &first);
    for (int64_t i = 0; silence != nullptr && i < batch; ++i) {
      const auto image = first.size() / static_cast<size_t>(batch);
      silence->mutable_data<float>()[i] = std::exp(first[static_cast<size_t>(i) * image + static_cast<size_t>(no_speech_)]);
    }
  }

 private:
  TimestampRules timestamps_;
  int64_t no_speech_;
};

}  // namespace

void RegisterWhisperBeamSearch(KernelRegistry& registry) {
  registry.Add(Op("WhisperBeamSearch", "com.microsoft")
                   .Types(0, {ElementType::kFloat, ElementType::kFloat16})
                   .OutputTypes(1, {ElementType::kFloat})
                   .OutputTypes(2, {ElementType::kFloat})
                   .OutputTypes(4, {ElementType::kFloat})
                   .Make<WhisperBeamSearch>());
}

}  // namespace tessera::cpu
