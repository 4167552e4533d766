// Encoders and decoders of T5's form. The encoder runs once, (encoder_input_ids, encoder_attention_mask) ->
// (present_key_cross_0, present_value_cross_0, ...); as older exports have it, it takes decoder_input_ids too and runs the
// decoder's first step: (logits, encoder_hidden_states, present_key_self_0, present_value_self_0, ..., present_key_cross_0,
// ...). The decoder is (input_ids, encoder_attention_mask, [encoder_hidden_states], past_key_self_0, ..., past_key_cross_0,
// ...) -> (logits, present_key_self_0, ...). Whisper's form has no masks: its encoder takes (encoder_input_ids,
// decoder_input_ids), the first of which are features of sounds, and runs the first step.

#include <algorithm>

#include "base/check.h"
#include "cpu/ops/generation/decoder.h"

namespace tessera::cpu {
namespace {

constexpr size_t kFirstPresent = 1;

/// Both graphs, checked.
struct EncoderDecoderGraphs {
  EncoderDecoderGraphs(const KernelInfo& info, bool of_sounds);

  void CheckEncoder() const;
  void CheckDecoder();

  NestedGraph encoder, decoder;
  bool sounds;           // Whisper's form
  bool encoder_begins;   // the encoder runs the decoder's first step
  bool reads_states;     // the decoder takes encoder_hidden_states
  bool whole_sequences;  // the decoder takes all tokens, not the last ones
  size_t self;           // number of keys and values that grow; there are as many of the encoder
  size_t first_past;
  int64_t heads = 0, width = 0, vocabulary = 0;
};

EncoderDecoderGraphs::EncoderDecoderGraphs(const KernelInfo& info, bool of_sounds)
    : encoder(info, "encoder"),
      decoder(info, "decoder"),
      sounds(of_sounds),
      encoder_begins(sounds || encoder.num_inputs() > 2),
      reads_states(decoder.has_input("encoder_hidden_states")),
      self(decoder.num_outputs() - std::min(decoder.num_outputs(), kFirstPresent)),
      first_past((sounds ? 1u : 2u) + (reads_states ? 1 : 0)) {
  Require(!decoder.has_input("past_sequence_length"),
          "the decoder keeps past and present in one buffer, which is not supported");
  Require(self > 0 && self % 2 == 0 && decoder.num_inputs() == first_past + 2 * self,
          "the decoder has {} inputs and {} outputs; with n layers, {} + 4 n and 1 + 2 n are expected",
          decoder.num_inputs(), decoder.num_outputs(), first_past);
  CheckEncoder();
  CheckDecoder();
}

void EncoderDecoderGraphs::CheckEncoder() const {
  const size_t inputs = sounds ? 2 : encoder_begins ? 3 : 2, outputs = encoder_begins ? 2 + 2 * self : self;
  encoder.RequireInput(0, "encoder_input_ids", sounds ? ElementType::kUndefined : ElementType::kInt32);
  if (!sounds) encoder.RequireInput(1, "encoder_attention_mask", ElementType::kInt32);
  if (encoder_begins) {
    encoder.RequireInput(inputs - 1, "decoder_input_ids", ElementType::kInt32);
    encoder.RequireOutput(0, "logits");
    encoder.RequireOutput(1, "encoder_hidden_states");
    encoder.RequireOutput(2, "present_key_self_0");
  } else {
    encoder.RequireOutput(0, "present_key_cross_0");
    Require(!reads_states, "the decoder takes encoder_hidden_states, which the encoder does not give");
  }
  Require(encoder.num_inputs() == inputs && encoder.num_outputs() == outputs,
          "the encoder has {} inputs and {} outputs; {} and {} are expected", encoder.num_inputs(), encoder.num_outputs(),
          inputs, outputs);
}

void EncoderDecoderGraphs::CheckDecoder() {
  decoder.RequireInput(0, "input_ids", ElementType::kInt32);
  if (!sounds) decoder.RequireInput(1, "encoder_attention_mask", ElementType::kInt32);
  if (reads_states) decoder.RequireInput(first_past - 1, "encoder_hidden_states");
  decoder.RequireOutput(0, "logits");
  const ElementType type = decoder.output_type(0).element;
  Require(type == ElementType::kFloat || type == ElementType::kFloat16, "logits are {}; float or float16 is expected",
          ElementTypeName(type));
  const auto check = [&](const TypeInfo& stated, const char* what, size_t i) {
    Require(stated.element == type, "{} {} is {}, logits are {}", what, i, ElementTypeName(stated.element),
            ElementTypeName(type));
  };
  for (size_t i = sounds ? 1 : 2; i < decoder.num_inputs(); ++i) check(decoder.input_type(i), "the decoder's input", i);
  for (size_t i = 1; i < decoder.num_outputs(); ++i) check(decoder.output_type(i), "the decoder's output", i);
  for (size_t i = 0; i < encoder.num_outputs(); ++i) check(encoder.output_type(i), "the encoder's output", i);
  const TypeInfo& key = decoder.output_type(kFirstPresent);
  heads = NestedGraph::DeclaredSize(key, 4, 1, "present_key_self_0");
  width = NestedGraph::DeclaredSize(key, 4, 3, "present_key_self_0");
  vocabulary = NestedGraph::DeclaredSize(decoder.output_type(0), 3, 2, "logits");
  const auto& ids = decoder.input_type(0).shape;
  Require(ids.has_value() && ids->size() == 2, "the decoder's input_ids are declared {}; two dimensions are expected",
          decoder.input_type(0).ToString());
  whole_sequences = (*ids)[1].value != 1;
}

class EncoderDecoding final : public Decoding {
 public:
  /// `encoder_inputs`: ids, mask and the first tokens; of sounds, features and the first tokens.
  EncoderDecoding(const EncoderDecoderGraphs& graphs, std::vector<Value> encoder_inputs, int64_t beams, Allocator& memory)
      : graphs_(graphs), encoder_inputs_(std::move(encoder_inputs)), beams_(beams), memory_(memory) {}

  const Tensor& Next(KernelContext& context) override {
    if (inputs_.empty()) {
      const auto count = graphs_.encoder.num_inputs();
      outputs_ = graphs_.encoder.Run(context, std::span<const Value>(encoder_inputs_).first(count));
      if (graphs_.encoder_begins) return outputs_[0].tensor();
      const Tensor first = RepeatRows(encoder_inputs_.back().tensor(), beams_, memory_);
      const Tensor none(outputs_[0].tensor().type(), {first.shape()[0], graphs_.heads, 0, graphs_.width});
      BeginInputs(first, std::vector<Value>(graphs_.self, none), 0);
    }
    outputs_ = graphs_.decoder.Run(context, inputs_);
    return outputs_[0].tensor();
  }

  void Advance(const Sequences& sequences, std::span<const int32_t> tokens, std::span<const int32_t> sources) override {
    Tensor ids = graphs_.whole_sequences ? All(sequences) : Tensor::Of<int32_t>({sequences.rows(), 1}, tokens);
    if (inputs_.empty()) {
      // Beams of an image are still alike, whatever their sources.
      BeginInputs(std::move(ids), {}, 2);
      return;
    }
    inputs_[0] = std::move(ids);
    for (size_t i = 0; i < graphs_.self; ++i) {
      Value& present = outputs_[kFirstPresent + i];
      RequireRows(present.tensor(), sequences.rows());
      inputs_[graphs_.first_past + i] =
          sources.empty() ? std::move(present) : Value(TakeRows(present.tensor(), 0, sources, memory_));
    }
    outputs_.clear();
  }

 private:
  /// From what the encoder gave: its outputs from `first` on, after these pasts.
  void BeginInputs(Tensor ids, std::vector<Value> pasts, size_t first) {
    const int64_t batch = ids.shape()[0] / beams_;
    inputs_ = {std::move(ids)};
    if (!graphs_.sounds) inputs_.emplace_back(RepeatRows(encoder_inputs_[1].tensor(), beams_, memory_));
    const auto add = [&](size_t output) {
      RequireRows(outputs_[output].tensor(), batch);
      inputs_.emplace_back(RepeatRows(outputs_[output].tensor(), beams_, memory_));
    };
    if (graphs_.reads_states) add(1);
    for (Value& past : pasts) inputs_.push_back(std::move(past));
    for (size_t i = first; i < outputs_.size(); ++i) add(i);
    outputs_.clear();
  }

  static void RequireRows(const Tensor& tensor, int64_t rows) {
    Require(tensor.shape().rank() > 0 && tensor.shape()[0] == rows, "keys, values or states are {}; {} rows are expected",
            tensor.shape(), rows);
  }

  static Tensor All(const Sequences& sequences) {
    Tensor ids(ElementType::kInt32, {sequences.rows(), sequences.length()});
    for (int64_t i = 0; i < sequences.rows(); ++i)
      std::ranges::copy(sequences[i], ids.mutable_data<int32_t>() + i * sequences.length());
    return ids;
  }

  const EncoderDecoderGraphs& graphs_;
  std::vector<Value> encoder_inputs_;
  int64_t beams_;
  Allocator& memory_;                    // of the run
  std::vector<Value> inputs_, outputs_;  // of the decoder; outputs first of the encoder
};

class EncoderDecoder final : public Decoder {
 public:
  EncoderDecoder(const KernelInfo& info, bool sounds)
      : graphs_(info, sounds),
        pad_(TokenAttribute(info, "pad_token_id")),
        start_(TokenAttribute(info, "decoder_start_token_id")) {
    Require(sounds || start_ >= 0, "decoder_start_token_id is {}; a token is expected", start_);
  }

  int64_t vocabulary() const override { return graphs_.vocabulary; }
  int64_t pad() const override { return pad_; }

  Tensor Begin(const SearchInputs& inputs) const override {
    if (graphs_.sounds) {
      const Tensor& features = inputs.first();
      Require(features.shape().rank() == 3, "the features are {}; 3 dimensions are expected", features.shape());
    } else {
      PromptOf(inputs);
    }
    const int64_t batch = inputs.batch();
    if (const Tensor* given = graphs_.sounds ? inputs[kDecoderIds] : nullptr; given != nullptr) {
      Require(given->shape().rank() == 2 && given->shape()[0] == batch && given->shape()[1] > 0,
              "decoder_input_ids is {}; [{},length] is expected", given->shape(), batch);
      return *given;
    }
    Require(start_ >= 0, "there is neither decoder_input_ids nor decoder_start_token_id");
    const std::vector<int32_t> start(static_cast<size_t>(batch), static_cast<int32_t>(start_));
    return Tensor::Of<int32_t>({batch, 1}, std::span<const int32_t>(start));
  }

  std::unique_ptr<Decoding> Start(const SearchInputs& inputs, size_t mask, int64_t beams) const override {
    std::vector<Value> given = {inputs.first()};
    if (!graphs_.sounds) given.emplace_back(Seen(inputs.first(), inputs[mask]));
    given.emplace_back(Begin(inputs));
    return std::make_unique<EncoderDecoding>(graphs_, std::move(given), beams, inputs.memory());
  }

 private:
  static constexpr size_t kDecoderIds = 10;

  Tensor Seen(const Tensor& ids, const Tensor* mask) const {
    if (mask != nullptr) return *mask;
    Tensor seen(ElementType::kInt32, ids.shape());
    bool padding = true;
    for (int64_t i = 0; i < ids.num_elements(); ++i) {
      // Only in front: tokenizers may end texts with what pads.
      padding = (padding || i % ids.shape()[1] == 0) && ids.data<int32_t>()[i] == pad_;
      seen.mutable_data<int32_t>()[i] = padding ? 0 : 1;
    }
    return seen;
  }

  EncoderDecoderGraphs graphs_;
  int64_t pad_, start_;
};

}  // namespace

std::unique_ptr<Decoder> MakeT5Decoder(const KernelInfo& info) { return std::make_unique<EncoderDecoder>(info, false); }
std::unique_ptr<Decoder> MakeWhisperDecoder(const KernelInfo& info) { return std::make_unique<EncoderDecoder>(info, true); }

}  // namespace tessera::cpu
