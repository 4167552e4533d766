// Text generation: what loops around decoders need.

#include <optional>

#include "graph/microsoft/define.h"
#include "onnx/defs/tensor_proto_util.h"

namespace tessera {
namespace {

const Types kInt64Only = {"tensor(int64)"};

void InferBifurcation(onnx::InferenceContext& context) {
  onnx::updateOutputElemType(context, 0, onnx::TensorProto::INT64);
  onnx::TensorShapeProto tokens;
  tokens.add_dim();
  onnx::updateOutputShape(context, 0, tokens);
  if (context.getNumOutputs() < 2) return;
  onnx::updateOutputElemType(context, 1, onnx::TensorProto::INT64);
  if (ShapeOfInput(context, 2) != nullptr) onnx::propagateShapeFromInputToOutput(context, 2, 1);
}

/// Two rows: where the path is in each of the two sequences.
void InferWarping(onnx::InferenceContext& context) {
  onnx::updateOutputElemType(context, 0, onnx::TensorProto::INT32);
  onnx::TensorShapeProto path;
  path.add_dim()->set_dim_value(2);
  path.add_dim();
  onnx::updateOutputShape(context, 0, path);
}

/// The one number of an int32 input, where it is constant.
std::optional<int64_t> ConstantOf(onnx::InferenceContext& context, size_t input) {
  const auto* value = context.getNumInputs() > input && context.hasInput(input) ? context.getInputData(input) : nullptr;
  if (value == nullptr || value->data_type() != onnx::TensorProto::INT32) return std::nullopt;
  const auto numbers = onnx::ParseData<int32_t>(value);
  return numbers.size() == 1 && numbers[0] >= 0 ? std::optional<int64_t>(numbers[0]) : std::nullopt;
}

void AddDim(onnx::TensorShapeProto& shape, std::optional<int64_t> size) {
  auto* dim = shape.add_dim();
  if (size) dim->set_dim_value(*size);
}

/// [batch, max_length]
void InferGreedySearch(onnx::InferenceContext& context) {
  onnx::updateOutputElemType(context, 0, onnx::TensorProto::INT32);
  const auto* ids = ShapeOfInput(context, 0);
  if (ids == nullptr || ids->dim_size() != 2) return;
  onnx::TensorShapeProto sequences;
  *sequences.add_dim() = ids->dim(0);
  AddDim(sequences, ConstantOf(context, 1));
  onnx::updateOutputShape(context, 0, sequences);
}

/// [batch, num_return_sequences, max_length], [batch, num_return_sequences] and [steps, batch, num_beams, vocabulary]
void InferBeamSearch(onnx::InferenceContext& context) {
  onnx::updateOutputElemType(context, 0, onnx::TensorProto::INT32);
  for (size_t i = 1; i < context.getNumOutputs(); ++i) {
    if (context.hasOutput(i)) onnx::updateOutputElemType(context, i, onnx::TensorProto::FLOAT);
  }
  const auto* ids = ShapeOfInput(context, 0);
  if (ids == nullptr || ids->dim_size() < 2) return;
  onnx::TensorShapeProto sums, scores;
  *sums.add_dim() = ids->dim(0);
  AddDim(sums, ConstantOf(context, 4));
  onnx::TensorShapeProto sequences = sums;
  AddDim(sequences, ConstantOf(context, 1));
  onnx::updateOutputShape(context, 0, sequences);
  if (context.getNumOutputs() > 1 && context.hasOutput(1)) onnx::updateOutputShape(context, 1, sums);
  if (context.getNumOutputs() < 3 || !context.hasOutput(2)) return;
  scores.add_dim();
  *scores.add_dim() = ids->dim(0);
  AddDim(scores, ConstantOf(context, 3));
  scores.add_dim();
  onnx::updateOutputShape(context, 2, scores);
}

void AddDims(onnx::InferenceContext& context, size_t output, const std::vector<onnx::TensorShapeProto::Dimension>& dims) {
  if (context.getNumOutputs() <= output || !context.hasOutput(output)) return;
  onnx::TensorShapeProto shape;
  for (const auto& dim : dims) *shape.add_dim() = dim;
  onnx::updateOutputShape(context, output, shape);
}

/// Hashes for each token, then the last tokens of each sequence, perhaps with their segments, and states behind single
/// tokens. `lengths`: the input that has one element for each sequence and one more; without it the ids' rows are the
/// sequences.
void InferHashes(onnx::InferenceContext& context, std::optional<size_t> lengths) {
  for (const size_t output : {size_t{0}, size_t{1}, size_t{3}}) {
    if (context.getNumOutputs() > output && context.hasOutput(output))
      onnx::propagateElemTypeFromInputToOutput(context, 0, output);
  }
  if (context.getNumOutputs() > 2 && context.hasOutput(2)) onnx::updateOutputElemType(context, 2, onnx::TensorProto::INT32);
  const auto* ids = ShapeOfInput(context, 0);
  const auto* borders = lengths ? ShapeOfInput(context, *lengths) : nullptr;
  const int64_t size = onnx::getAttribute(context, "max_ngram_size", 0),
                heads = onnx::getAttribute(context, "n_head_per_ngram", 0);
  const int64_t capacity = onnx::getAttribute(context, "state_update_capacity", 0);
  constexpr int64_t kMost = int64_t{1} << 31;
  if (ids == nullptr || ids->dim_size() != (lengths ? 1 : 2) || size < 2 || heads < 1 || size > kMost || heads > kMost ||
      capacity < 0)
    return;
  onnx::TensorShapeProto::Dimension batch, reach, all, captured;
  if (!lengths) batch = ids->dim(0);
  else if (borders != nullptr && borders->dim_size() == 1 && borders->dim(0).dim_value() > 1)
    batch.set_dim_value(borders->dim(0).dim_value() - 1);
  reach.set_dim_value(size - 1);
  all.set_dim_value((size - 1) * heads);
  captured.set_dim_value(capacity);
  std::vector<onnx::TensorShapeProto::Dimension> hashes(ids->dim().begin(), ids->dim().end());
  hashes.push_back(all);
  AddDims(context, 0, hashes);
  AddDims(context, 1, {batch, reach});
  AddDims(context, 2, {batch, reach});
  AddDims(context, 3, {batch, captured, reach});
}

const Types kInt32Only = {"tensor(int32)"};

/// Attributes that all searches have, but for the end's token.
Define& AddSearch(Define& schema, int64_t model_type = 0) {
  return schema.RequiredInt("pad_token_id")
      .Int("decoder_start_token_id", -1)
      .Int("model_type", model_type)
      .Int("no_repeat_ngram_size", 0)
      .Int("vocab_size", -1)
      .RequiredGraph("decoder")
      .Graph("init_decoder")
      .Graph("encoder");
}

void AddTokenRules(MicrosoftSchemas& schemas) {
  Define(schemas, "NGramRepeatBlock")
      .RequiredInt("ngram_size")
      .In("input_ids", "Tid")
      .In("scores")
      .Out("scores_out")
      .Type("Tid", kInt64Only)
      .Type("T", {"tensor(float)"})
      .Infer([](onnx::InferenceContext& context) {
        onnx::propagateElemTypeFromInputToOutput(context, 1, 0);
        if (ShapeOfInput(context, 1) != nullptr) onnx::propagateShapeFromInputToOutput(context, 1, 0);
      });
  Define(schemas, "BifurcationDetector")
      .Int("min_ngram_size", 1)
      .Int("max_ngram_size", 3)
      .In("src_tokens")
      .In("cur_tokens")
      .In("prev_suffix_match_idx")
      .OptionalIn("pred_tokens")
      .Out("tokens")
      .Out("suffix_match_idx")
      .Type("T", kInt64Only)
      .Infer(InferBifurcation);
  Define(schemas, "DynamicTimeWarping")
      .In("input", "F")
      .Out("output", "I")
      .Type("F", {"tensor(float)"})
      .Type("I", {"tensor(int32)"})
      .Infer(InferWarping);
}

void AddNGramHashes(MicrosoftSchemas& schemas) {
  const Types ids = {"tensor(int32)", "tensor(int64)"};
  Define(schemas, "NGramHashMapping")
      .RequiredInt("max_ngram_size")
      .RequiredInt("n_head_per_ngram")
      .RequiredInt("pad_id")
      .Int("reset_on_eos", 0)
      .In("input_ids", "M")
      .In("multipliers", "M")
      .In("vocab_sizes", "M")
      .OptionalIn("past_ids", "M")
      .OptionalIn("head_offsets", "M")
      .OptionalIn("eos_token_id", "M")
      .OptionalIn("segment_ids", "tensor(int32)")
      .Out("hash_ids", "M")
      .OptionalOut("present_ids", "M")
      .Type("M", ids)
      .Infer([](onnx::InferenceContext& context) { InferHashes(context, std::nullopt); });
  Define(schemas, "VarlenNGramHashMapping")
      .RequiredInt("max_ngram_size")
      .RequiredInt("n_head_per_ngram")
      .RequiredInt("pad_id")
      .Int("reset_on_eos", 0)
      .Int("state_update_capacity", 0)
      .In("input_ids", "M")
      .In("multipliers", "M")
      .In("vocab_sizes", "M")
      .In("cumulative_sequence_length", "S")
      .OptionalIn("past_ids", "M")
      .OptionalIn("head_offsets", "M")
      .OptionalIn("eos_token_id", "M")
      .OptionalIn("segment_ids", "tensor(int32)")
      .OptionalIn("past_segment_ids", "S")
      .OptionalIn("capture_count", "S")
      .Out("hash_ids", "M")
      .OptionalOut("present_ids", "M")
      .OptionalOut("present_segment_ids", "S")
      .OptionalOut("state_update", "M")
      .Type("M", ids)
      .Type("S", kInt32Only)
      .Infer([](onnx::InferenceContext& context) { InferHashes(context, 3); });
}

Define& GreedyInputs(Define& schema) {
  return schema.In("input_ids", "I")
      .In("max_length", "I")
      .OptionalIn("min_length", "I")
      .OptionalIn("repetition_penalty")
      .OptionalIn("vocab_mask", "I")
      .OptionalIn("prefix_vocab_mask", "I")
      .OptionalIn("attention_mask", "I");
}

void AddGreedySearches(MicrosoftSchemas& schemas) {
  AddSearch(Define(schemas, "GreedySearch").RequiredInt("eos_token_id"))
      .With(GreedyInputs)
      .Out("sequences", "I")
      .Type("T", {"tensor(float)"})
      .Type("I", kInt32Only)
      .Infer(InferGreedySearch);
  AddSearch(Define(schemas, "Sampling").RequiredInt("eos_token_id"))
      .Float("temperature", 1)
      .Float("top_p", 0)
      .Float("filter_value", -1e20f)
      .Int("min_tokens_to_keep", 0)
      .Float("presence_penalty", 0)
      .Int("custom", 0)
      .With(GreedyInputs)
      .OptionalIn("presence_mask", "I")
      .OptionalIn("seed", "I")
      .Out("sequences", "I")
      .OptionalOut("filtered_logits")
      .Type("T", {"tensor(float)"})
      .Type("I", kInt32Only)
      .Infer([](onnx::InferenceContext& context) {
        InferGreedySearch(context);
        if (context.getNumOutputs() > 1 && context.hasOutput(1))
          onnx::updateOutputElemType(context, 1, onnx::TensorProto::FLOAT);
      });
}

Define& BeamInputs(Define& schema) {
  return schema.In("input_ids", "F")
      .In("max_length", "I")
      .OptionalIn("min_length", "I")
      .In("num_beams", "I")
      .In("num_return_sequences", "I")
      .OptionalIn("length_penalty")
      .OptionalIn("repetition_penalty")
      .OptionalIn("vocab_mask", "M")
      .OptionalIn("prefix_vocab_mask", "M")
      .OptionalIn("attention_mask", "I")
      .OptionalIn("decoder_input_ids", "I")
      .OptionalIn("logits_processor", "I");
}

void AddBeamSearch(MicrosoftSchemas& schemas) {
  AddSearch(Define(schemas, "BeamSearch").RequiredInt("eos_token_id"))
      .Int("early_stopping", 0)
      .With(BeamInputs)
      .Out("sequences", "I")
      .OptionalOut("sequences_scores")
      .OptionalOut("scores")
      .Type("T", {"tensor(float)", "tensor(float16)"})
      .Type("F", {"tensor(float)", "tensor(int32)", "tensor(float16)"})
      .Type("I", kInt32Only)
      .Type("M", kInt32Only)
      .Infer(InferBeamSearch);
}

void AddWhisperBeamSearch(MicrosoftSchemas& schemas) {
  AddSearch(Define(schemas, "WhisperBeamSearch").RequiredInt("eos_token_id"), 2)
      .Int("early_stopping", 0)
      .Int("decoder_output_cross_qk")
      .Int("translate_token_id")
      .Int("transcribe_token_id")
      .Int("start_of_lm_token_id")
      .Int("no_speech_token_id")
      .Int("no_timestamps_token_id")
      .Int("beginning_timestamp_token_id")
      .With(BeamInputs)
      .OptionalIn("cross_qk_layer_head", "I")
      .OptionalIn("extra_decoding_ids", "I")
      .OptionalIn("temperature")
      .Out("sequences", "I")
      .OptionalOut("sequences_scores")
      .OptionalOut("scores")
      .OptionalOut("cross_qk", "V")
      .OptionalOut("non_speech_probs")
      .Type("T", {"tensor(float)", "tensor(float16)"})
      .Type("F", {"tensor(float)", "tensor(int32)", "tensor(float16)"})
      .Type("I", kInt32Only)
      .Type("M", kInt32Only)
      .Type("V", {"tensor(float)"})
      .Infer(InferBeamSearch);
}

}  // namespace

void AddGenerationSchemas(MicrosoftSchemas& schemas) {
  AddTokenRules(schemas);
  AddNGramHashes(schemas);
  AddGreedySearches(schemas);
  AddBeamSearch(schemas);
  AddWhisperBeamSearch(schemas);
}

}  // namespace tessera
