// Attention and what belongs to it.

#include <algorithm>

#include "graph/microsoft/define.h"

namespace tessera {
namespace {

const Types kInt32 = {"tensor(int32)"};

/// Output 0 with the query's first two dimensions and `hidden` elements; caches of the query's element type, their sizes
/// left to the kernel.
void InferHidden(onnx::InferenceContext& context, const onnx::TensorShapeProto::Dimension* hidden) {
  for (size_t i = 0; i < context.getNumOutputs(); ++i) {
    if (context.hasOutput(i)) onnx::propagateElemTypeFromInputToOutput(context, 0, i);
  }
  const auto* query = ShapeOfInput(context, 0);
  if (query == nullptr || query->dim_size() < 3 || hidden == nullptr) return;
  onnx::TensorShapeProto result;
  *result.add_dim() = query->dim(0);
  *result.add_dim() = query->dim(1);
  *result.add_dim() = *hidden;
  onnx::updateOutputShape(context, 0, result);
}

void InferAttention(onnx::InferenceContext& context) {
  const auto* weights = ShapeOfInput(context, 1);
  onnx::TensorShapeProto::Dimension hidden;
  const auto* sizes = context.getAttribute("qkv_hidden_sizes");
  if (sizes != nullptr && sizes->ints_size() == 3) hidden.set_dim_value(sizes->ints(2));
  else if (weights != nullptr && weights->dim_size() == 2 && weights->dim(1).has_dim_value())
    hidden.set_dim_value(weights->dim(1).dim_value() / 3);
  InferHidden(context, hidden.has_dim_value() ? &hidden : nullptr);
}

void InferMultiHeadAttention(onnx::InferenceContext& context) {
  const auto* query = ShapeOfInput(context, 0);
  const auto* value = ShapeOfInput(context, 2);
  const bool plain = query != nullptr && query->dim_size() == 3 && value != nullptr && value->dim_size() == 3;
  InferHidden(context, plain ? &value->dim(2) : nullptr);
}

void InferGroupQueryAttention(onnx::InferenceContext& context) {
  const auto* query = ShapeOfInput(context, 0);
  onnx::TensorShapeProto::Dimension hidden;
  if (query != nullptr && query->dim_size() == 3) {
    hidden = query->dim(2);
    if (!context.hasInput(1)) {
      const int64_t heads = onnx::getAttribute(context, "num_heads", 1);
      const int64_t parts = heads + 2 * std::clamp<int64_t>(onnx::getAttribute(context, "kv_num_heads", 1), 0, 1 << 30);
      if (hidden.has_dim_value() && heads > 0 && heads < (1 << 30))
        hidden.set_dim_value(hidden.dim_value() / parts * heads);
      else hidden.Clear();
    }
  }
  InferHidden(context, hidden.has_dim_value() || hidden.has_dim_param() ? &hidden : nullptr);
  const bool in_bytes = onnx::getAttribute(context, "kv_cache_bit_width", 0) != 4;
  const bool is_quantized = onnx::getAttribute(context, "k_quant_type", "NONE").starts_with("PER_");
  for (size_t i = 1; i <= 2 && i < context.getNumOutputs(); ++i) {
    if (!context.hasOutput(i)) continue;
    if (context.hasInput(i + 2)) onnx::propagateElemTypeFromInputToOutput(context, i + 2, i);
    else if (is_quantized)
      onnx::updateOutputElemType(context, i, in_bytes ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8);
  }
}

/// The state's element type is the past's, or the query's.
void InferLinearAttention(onnx::InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  onnx::propagateElemTypeFromInputToOutput(context, context.hasInput(3) ? 3 : 0, 1);
}

void InferCausalConv(onnx::InferenceContext& context) {
  onnx::propagateShapeAndTypeFromFirstInput(context);
  onnx::propagateElemTypeFromInputToOutput(context, 0, 1);
}

/// In float32.
bool GateBody(const Define::Context& context, onnx::FunctionBuilder& body) {
  body.Add(R"(
      wide = Cast <to = 1> (a)
      sum = Add (wide, dt_bias)
      soft = Softplus (sum)
      scaled = Mul (decay_scale, soft)
      decay = CastLike (scaled, a))");
  if (context.hasOutput(1)) {
    if (!context.hasInput(3)) return false;
    body.Add("rate = Cast <to = 1> (b) update = Sigmoid (rate) beta = CastLike (update, a)");
  }
  return true;
}

/// SparseAttention's `blocks` [layout, row, column], true where a block is shown, of the rows' ends and the columns of
/// their entries.
constexpr const char* kShownBlocks = R"(
    row_ends = Slice (block_row_indices, second, end, second)
    ends = Cast <to = 7> (row_ends)
    row_count = Shape <start = 1, end = 2> (ends)
    rows = Squeeze (row_count)
    row_range = Range (zero, rows, one)
    columns = Cast <to = 7> (block_col_indices)
    entry_count = Shape <start = 1, end = 2> (columns)
    entries = Squeeze (entry_count)
    entry_range = Range (zero, entries, one)
    ends3 = Unsqueeze (ends, second)
    entry2 = Unsqueeze (entry_range, second)
    behind = LessOrEqual (ends3, entry2)
    behind_count = Cast <to = 7> (behind)
    entry_row = ReduceSum <keepdims = 1> (behind_count, third)
    entry_column = Unsqueeze (columns, third)
    in_row = Equal (entry_row, row_range)
    in_column = Equal (entry_column, row_range)
    in_row_real = Cast <to = 1> (in_row)
    in_column_real = Cast <to = 1> (in_column)
    by_row = Transpose <perm = [0, 2, 1]> (in_row_real)
    found = MatMul (by_row, in_column_real)
    blocks = Cast <to = 9> (found))";

/// Its `bias` for the queries' heads, steps and keys, and `ends_of_keys`, the last key's place in each sequence.
constexpr const char* kBiasOfBlocks = R"(
    step_count = Shape <start = 1, end = 2> (query)
    steps = Squeeze (step_count)
    step_range = Range (zero, steps, one)
    lengths_wide = Cast <to = 7> (key_total_sequence_lengths)
    lengths = Reshape (lengths_wide, flat)
    before = Sub (lengths, steps)
    past = Max (before, zero)
    past2 = Unsqueeze (past, second)
    positions = Add (past2, step_range)
    query_blocks = Div (positions, block)
    total_wide = Cast <to = 7> (total_sequence_length)
    total = Squeeze (total_wide)
    key_range = Range (zero, total, one)
    key_blocks = Div (key_range, block)
    of_queries = Gather <axis = 1> (blocks, query_blocks)
    of_layouts = Gather <axis = 3> (of_queries, key_blocks)
    shown = Transpose <perm = [1, 0, 2, 3]> (of_layouts)
    layouts = Shape <start = 0, end = 1> (block_row_indices)
    times = Div (heads, layouts)
    repeats = Concat <axis = 0> (second, times, second, second)
    shown_by_heads = Tile (shown, repeats)
    nothing = Constant <value = float {0.0}> ()
    infinity = Constant <value = float {3.0e38}> ()
    ten = Constant <value = float {-10.0}> ()
    hidden = Mul (infinity, ten)
    bias_real = Where (shown_by_heads, nothing, hidden)
    bias = CastLike (bias_real, query)
    last = CastLike (one, key_total_sequence_lengths)
    ends_of_keys = Sub (key_total_sequence_lengths, last))";

/// GroupQueryAttention with a bias that hides what the blocks do not show. Which blocks [layout, rows, columns] do depends
/// on initializers alone, as a rule, and is computed when the model is loaded.
bool SparseAttentionBody(const Define::Context& context, onnx::FunctionBuilder& body) {
  const int64_t block = IntOf(context, "sparse_block_size", 0);
  if (block <= 0) return false;
  body.Const("block", block).Const("heads", std::vector<int64_t>{IntOf(context, "num_heads", 0)});
  body.Const("zero", int64_t{0})
      .Const("one", int64_t{1})
      .Const("first", std::vector<int64_t>{0})
      .Const("second", std::vector<int64_t>{1});
  body.Const("third", std::vector<int64_t>{2})
      .Const("end", std::vector<int64_t>{1 << 30})
      .Const("flat", std::vector<int64_t>{-1});
  body.Add(kShownBlocks);
  body.Add(kBiasOfBlocks);
  const auto optional = [&](int input, const char* name) { return std::string(context.hasInput(input) ? name : R"("")"); };
  body.Add((R"(output, present_key, present_value = com.microsoft.GroupQueryAttention <do_rotary: int = @do_rotary,
      kv_num_heads: int = @kv_num_heads, num_heads: int = @num_heads, rotary_interleaved: int = @rotary_interleaved, scale: float = @scale>
      (query, )" +
            optional(1, "key") + ", " + optional(2, "value") +
            ", past_key, past_value, ends_of_keys, total_sequence_length, " + optional(9, "cos_cache") + ", " +
            optional(10, "sin_cache") + R"(, "", bias))")
               .c_str());
  return true;
}

Define& MultiHeadOutputs(Define& schema) {
  return schema.Out("output")
      .OptionalOut("present_key")
      .OptionalOut("present_value")
      .OptionalOut("qk", "QK")
      .Type("T", kFloatAndHalves)
      .Type("QK", kFloatAndHalves)
      .Type("M", kInt32)
      .Infer(InferMultiHeadAttention);
}

void AddMultiHeadAttention(MicrosoftSchemas& schemas) {
  Define(schemas, "Attention")
      .Int("do_rotary")
      .Float("mask_filter_value")
      .RequiredInt("num_heads")
      .Int("past_present_share_buffer")
      .Ints("qkv_hidden_sizes")
      .Int("rotary_embedding_dim")
      .Float("scale")
      .Int("unidirectional", 0)
      .In("input")
      .In("weights")
      .OptionalIn("bias")
      .OptionalIn("mask_index", "M")
      .OptionalIn("past")
      .OptionalIn("attention_bias")
      .OptionalIn("past_sequence_length", "M")
      .Out("output")
      .OptionalOut("present")
      .Type("T", kFloatAndHalves)
      .Type("M", kInt32)
      .Infer(InferAttention);
  Define(schemas, "MultiHeadAttention")
      .Float("mask_filter_value")
      .RequiredInt("num_heads")
      .Float("scale")
      .Int("unidirectional", 0)
      .In("query")
      .OptionalIn("key")
      .OptionalIn("value")
      .OptionalIn("bias")
      .OptionalIn("key_padding_mask", "M")
      .OptionalIn("attention_bias")
      .OptionalIn("past_key")
      .OptionalIn("past_value")
      .OptionalIn("past_sequence_length", "M")
      .OptionalIn("cache_indirection", "M")
      .With(MultiHeadOutputs);
}

void AddDecoderMaskedAttention(MicrosoftSchemas& schemas) {
  Define(schemas, "DecoderMaskedMultiHeadAttention")
      .Float("mask_filter_value")
      .RequiredInt("num_heads")
      .Int("output_qk", 0)
      .Int("past_present_share_buffer", 0)
      .Float("scale")
      .In("query")
      .OptionalIn("key")
      .OptionalIn("value")
      .OptionalIn("mask_index", "M")
      .OptionalIn("attention_bias")
      .OptionalIn("past_key")
      .OptionalIn("past_value")
      .OptionalIn("past_sequence_length", "M")
      .OptionalIn("beam_width", "M")
      .OptionalIn("cache_indirection", "M")
      .OptionalIn("bias")
      .With(MultiHeadOutputs);
}

void AddGroupQueryAttention(MicrosoftSchemas& schemas) {
  Define(schemas, "GroupQueryAttention")
      .Int("causal", 1)
      .Int("do_rotary", 0)
      .Int("kv_cache_bit_width")
      .RequiredInt("kv_num_heads")
      .Int("local_window_size", -1)
      .RequiredInt("num_heads")
      .Int("qk_output", 0)
      .Float("qk_norm_epsilon", 1e-6f)
      .Int("rotary_interleaved", 0)
      .Float("scale")
      .Int("sliding_window_cache", 0)
      .Int("smooth_softmax", -1)
      .Float("softcap")
      .String("k_quant_type", "NONE")
      .String("v_quant_type", "NONE")
      .In("query")
      .OptionalIn("key")
      .OptionalIn("value")
      .OptionalIn("past_key", "T_CACHE")
      .OptionalIn("past_value", "T_CACHE")
      .In("seqlens_k", "M")
      .In("total_sequence_length", "M")
      .OptionalIn("cos_cache")
      .OptionalIn("sin_cache")
      .OptionalIn("position_ids", "tensor(int64)")
      .OptionalIn("attention_bias")
      .OptionalIn("head_sink")
      .OptionalIn("k_scale", "T_KV_SCALE")
      .OptionalIn("v_scale", "T_KV_SCALE")
      .OptionalIn("q_norm_weight")
      .OptionalIn("k_norm_weight")
      .Out("output")
      .OptionalOut("present_key", "T_CACHE")
      .OptionalOut("present_value", "T_CACHE")
      .OptionalOut("output_qk")
      .Type("T", kFloatAndHalves)
      .Type("T_CACHE", {"tensor(float)", "tensor(float16)", "tensor(bfloat16)", "tensor(uint8)", "tensor(int8)",
                        "tensor(float8e4m3fn)"})
      .Type("T_KV_SCALE", {"tensor(float)"})
      .Type("M", kInt32)
      .Infer(InferGroupQueryAttention);
}

void AddSparseAttention(MicrosoftSchemas& schemas) {
  Define(schemas, "SparseAttention")
      .Int("do_rotary", 0)
      .RequiredInt("kv_num_heads")
      .RequiredInt("num_heads")
      .Int("rotary_interleaved", 0)
      .Float("scale")
      .RequiredInt("sparse_block_size")
      .In("query")
      .OptionalIn("key")
      .OptionalIn("value")
      .In("past_key")
      .In("past_value")
      .In("block_row_indices", "M")
      .In("block_col_indices", "M")
      .In("total_sequence_length", "M")
      .In("key_total_sequence_lengths", "M")
      .OptionalIn("cos_cache")
      .OptionalIn("sin_cache")
      .Out("output")
      .Out("present_key")
      .Out("present_value")
      .Type("T", kFloatAndHalves)
      .Type("M", kInt32)
      .Body(SparseAttentionBody);
}

void AddLinearAttention(MicrosoftSchemas& schemas) {
  Define(schemas, "LinearAttention")
      .Int("chunk_size", 64)
      .RequiredInt("kv_num_heads")
      .RequiredInt("q_num_heads")
      .Float("scale", 0)
      .Int("state_window", 0)
      .String("update_rule", "gated_delta")
      .In("query")
      .In("key")
      .In("value")
      .OptionalIn("past_state", "S")
      .OptionalIn("decay")
      .OptionalIn("beta")
      .Out("output")
      .Out("present_state", "S")
      .Type("T", kFloatAndHalves)
      .Type("S", kFloatAndHalves)
      .Infer(InferLinearAttention);
  Define(schemas, "CausalConvWithState")
      .String("activation", "none")
      .Int("channels_last", 0)
      .Int("dilation", 1)
      .Int("ndim", 1)
      .Int("state_window", 0)
      .In("input")
      .In("weight")
      .OptionalIn("bias")
      .OptionalIn("past_state")
      .Out("output")
      .Out("present_state")
      .Type("T", kFloatAndHalves)
      .Infer(InferCausalConv);
  Define(schemas, "LinearAttentionGate")
      .In("a")
      .In("dt_bias", "TF")
      .In("decay_scale", "TF")
      .OptionalIn("b")
      .Out("decay")
      .OptionalOut("beta")
      .Type("T", kFloatAndHalves)
      .Type("TF", {"tensor(float)"})
      .Body(GateBody);
}

Define& Rotation(Define& schema) {
  return schema.Int("interleaved", 0)
      .Int("is_packed_batching", 0)
      .Int("num_heads", 0)
      .Int("rotary_embedding_dim", 0)
      .Float("scale", 1)
      .In("input")
      .In("position_ids", "M")
      .In("cos_cache")
      .In("sin_cache")
      .Out("output")
      .Type("T", kFloatAndHalves)
      .Type("M", {"tensor(int64)"})
      .LikeFirstInput();
}

void AddRotaryEmbeddings(MicrosoftSchemas& schemas) {
  Define(schemas, "MRotaryEmbedding").Int("mrope_layout", 0).RequiredInts("mrope_section").With(Rotation);
  Define(schemas, "RotaryEmbedding").With(Rotation);
}

}  // namespace

void AddAttentionSchemas(MicrosoftSchemas& schemas) {
  AddMultiHeadAttention(schemas);
  AddDecoderMaskedAttention(schemas);
  AddGroupQueryAttention(schemas);
  AddSparseAttention(schemas);
  AddLinearAttention(schemas);
  AddRotaryEmbeddings(schemas);
}

}  // namespace tessera
