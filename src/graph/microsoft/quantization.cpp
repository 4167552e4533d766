// Quantized operators. Most are their float operator between a DequantizeLinear and a QuantizeLinear.

#include <fmt/format.h>

#include "graph/microsoft/quantize.h"

namespace tessera {
namespace {

using Context = Define::Context;
using Body = onnx::FunctionBuilder;

const Types kFloat = {"tensor(float)"};

bool SoftmaxBody(const Context& context, Body& body) {
  body.Add("real = DequantizeLinear (X, X_scale, x_zero_point)");
  if (IntOf(context, "opset", 13) >= 13) {
    body.Add("result = Softmax <axis: int = @axis> (real)");
  } else {  // of everything from the axis on
    body.Add("shape = Shape (real)")
        .Add("flat = Flatten <axis: int = @axis> (real)")
        .Add("row = Softmax <axis = -1> (flat)");
    body.Add("result = Reshape (row, shape)");
  }
  AddQuantize(context, body, "Y", "result", "y_scale", "y_zero_point", 4);
  return true;
}

bool ConcatBody(const Context& context, Body& body) {
  std::string parts;
  for (int i = 0; context.hasInput(2 + 3 * i); ++i) {
    const auto name = [&](int k) { return "inputs" + std::to_string(3 * i + k); };
    const std::string part = "real" + std::to_string(i);
    body.Add((part + " = DequantizeLinear (" + name(0) + ", " + name(1) + ", " + name(2) + ")").c_str());
    parts += (i == 0 ? "" : ", ") + part;
  }
  body.Add(("joined = Concat <axis: int = @axis> (" + parts + ")").c_str());
  body.Add("Y = QuantizeLinear (joined, Y_scale, Y_zero_point)");
  return !parts.empty();
}

constexpr const char* kWhere = R"(
    real_x = DequantizeLinear (X, x_scale, x_zero_point)
    real_y = DequantizeLinear (Y, y_scale, y_zero_point)
    chosen = Where (condition, real_x, real_y)
    Z = QuantizeLinear (chosen, z_scale, z_zero_point))";

/// Rows of tables are looked up before they become numbers.
bool QEmbedLayerNormalizationBody(const Context& context, Body& body) {
  const auto add_real = [&](const char* to, const char* from, const std::string& of) {
    body.Add(fmt::format("scale_of_{0} = Squeeze ({2}_scale) zero_of_{0} = Squeeze ({2}_zero_point) {0} = DequantizeLinear "
                         "({1}, scale_of_{0}, zero_of_{0})",
                         to, from, of)
                 .c_str());
  };
  body.Add(R"(
      first = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      steps = Shape <start = 1, end = 2> (input_ids)
      count = Squeeze (steps)
      positions = Range (first, count, one)
      words = Gather (word_embedding_quant, input_ids)
      places = Gather (position_embedding_quant, positions))");
  add_real("word", "words", "word_embedding");
  add_real("place", "places", "position_embedding");
  add_real("gamma", "gamma_quant", "gamma");
  add_real("beta", "beta_quant", "beta");
  body.Add("placed = Add (word, place)");
  if (context.hasInput(1)) {
    body.Add("segments = Gather (segment_embedding, segment_ids)");
    add_real("segment", "segments", "segment_embedding");
    body.Add("sum = Add (placed, segment)");
  } else {
    body.Add("sum = Identity (placed)");
  }
  body.Add("layernorm_out = LayerNormalization <axis = -1, epsilon: float = @epsilon> (sum, gamma, beta)");
  body.Add(context.hasInput(7) ? R"(
      yes = Constant <value = int32 {1}> ()
      is_word = Equal (mask, yes)
      ones = Cast <to = 6> (is_word)
      axis = Constant <value = int64[1] {1}> ()
      mask_index_out = ReduceSum <keepdims = 0> (ones, axis))"
                               : R"(
      batch = Shape <start = 0, end = 1> (input_ids)
      mask_index_out = ConstantOfShape <value = int32[1] {0}> (batch))");
  return true;
}

bool DynamicQuantizeMatMulBody(const Context& context, Body& body) {
  body.Add(R"(
      quantized, a_scale, a_zero = DynamicQuantizeLinear (A)
      whole = MatMulInteger (quantized, B, a_zero, b_zero_point)
      real = Cast <to = 1> (whole)
      scale = Mul (a_scale, b_scale))");
  body.Add(context.hasInput(4) ? "scaled = Mul (real, scale) Y = Add (scaled, bias)" : "Y = Mul (real, scale)");
  return true;
}

bool MatMulIntegerToFloatBody(const Context& context, Body& body) {
  body.Add(R"(
      whole = MatMulInteger (A, B, a_zero_point, b_zero_point)
      exact = Cast <to = 1> (whole)
      scale_ab = Mul (a_scale, b_scale)
      scale = Cast <to = 1> (scale_ab)
      scaled = Mul (exact, scale)
      real = CastLike (scaled, a_scale))");
  body.Add(context.hasInput(6) ? "Y = Add (real, bias)" : "Y = Identity (real)");
  return true;
}

void InferQGemm(onnx::InferenceContext& context) {
  if (context.getNumInputs() > 8 && context.getInputType(8) != nullptr) {
    onnx::propagateElemTypeFromInputToOutput(context, 8, 0);
  } else if (context.getNumInputs() > 7 && context.getInputType(7) != nullptr) {
    onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  } else {
    onnx::updateOutputElemType(context, 0, onnx::TensorProto::FLOAT);
  }
  const auto* a = ShapeOfInput(context, 0);
  const auto* b = ShapeOfInput(context, 3);
  if (a == nullptr || b == nullptr || a->dim_size() != 2 || b->dim_size() != 2) return;
  onnx::TensorShapeProto result;
  *result.add_dim() = a->dim(onnx::getAttribute(context, "transA", 0) != 0 ? 1 : 0);
  *result.add_dim() = b->dim(onnx::getAttribute(context, "transB", 0) != 0 ? 0 : 1);
  onnx::updateOutputShape(context, 0, result);
}

bool QGemmBody(const Context& context, Body& body) {
  body.Add(IntOf(context, "transA", 0) != 0 ? "left = Transpose <perm = [1, 0]> (A)" : "left = Identity (A)");
  body.Add(IntOf(context, "transB", 0) != 0 ? "right = Transpose <perm = [1, 0]> (B)" : "right = Identity (B)");
  body.Add("product = MatMulInteger (left, right, a_zero_point, b_zero_point)");
  body.Add(context.hasInput(6) ? "whole = Add (product, C)" : "whole = Identity (product)");
  body.Const("factor", FloatOf(context, "alpha", 1));
  body.Add("real = Cast <to = 1> (whole) scale_ab = Mul (a_scale, b_scale) scale = Mul (scale_ab, factor)");
  if (!context.hasInput(7)) {
    body.Add("Y = Mul (real, scale)");
  } else {
    body.Add("scaled = Mul (real, scale)");
    AddQuantize(context, body, "Y", "scaled", "y_scale", "y_zero_point", 8);
  }
  return true;
}

bool QAttentionBody(const Context& context, Body& body) {
  if (IntOf(context, "do_rotary", 0) != 0 || IntOf(context, "past_present_share_buffer", 0) != 0) return false;
  body.Add(R"(
      projected = com.microsoft.MatMulIntegerToFloat (input, weight, input_scale, weight_scale, input_zero_point, weight_zero_point, bias)
      q, k, v = Split <axis = -1, num_outputs = 3> (projected)
      zero = Constant <value = int64[1] {0}> ())");
  const bool has_past = context.hasInput(8);
  if (has_past) {
    body.Add(R"(
        past_keys, past_values = Split <axis = 0, num_outputs = 2> (past)
        past_key = Squeeze (past_keys, zero)
        past_value = Squeeze (past_values, zero))");
  }
  std::string attention =
      R"( = com.microsoft.MultiHeadAttention <mask_filter_value: float = @mask_filter_value, num_heads: int = @num_heads,
      scale: float = @scale, unidirectional: int = @unidirectional> (q, k, v, "", mask_index)";
  attention += has_past ? R"(, "", past_key, past_value))" : ")";
  if (!context.hasOutput(1)) {
    body.Add(("output" + attention).c_str());
    return true;
  }
  body.Add(("output, present_key, present_value" + attention).c_str());
  body.Add(R"(
      keys = Unsqueeze (present_key, zero)
      values = Unsqueeze (present_value, zero)
      present = Concat <axis = 0> (keys, values))");
  return true;
}

constexpr const char* kDynamicQuantizeLstm = R"(
    spread = Constant <value = int64[3] {0, 1, -1}> ()
    w_scale = Reshape (W_scale, spread)
    w_zero = Reshape (W_zero_point, spread)
    w_float = Cast <to = 1> (W)
    w_zeros = Cast <to = 1> (w_zero)
    w_centered = Sub (w_float, w_zeros)
    w_real = Mul (w_centered, w_scale)
    w = Transpose <perm = [0, 2, 1]> (w_real)
    r_scale = Reshape (R_scale, spread)
    r_zero = Reshape (R_zero_point, spread)
    r_float = Cast <to = 1> (R)
    r_zeros = Cast <to = 1> (r_zero)
    r_centered = Sub (r_float, r_zeros)
    r_real = Mul (r_centered, r_scale)
    r = Transpose <perm = [0, 2, 1]> (r_real)
    Y, Y_h, Y_c = LSTM <activation_alpha: floats = @activation_alpha, activation_beta: floats = @activation_beta,
        activations: strings = @activations, clip: float = @clip, direction: string = @direction, hidden_size: int = @hidden_size,
        input_forget: int = @input_forget> (X, w, r, B, sequence_lens, initial_h, initial_c, P))";

void InferBinary(onnx::InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  const auto* a = ShapeOfInput(context, 0);
  const auto* b = ShapeOfInput(context, 3);
  if (a == nullptr || b == nullptr) return;
  onnx::TensorShapeProto result;
  onnx::bidirectionalBroadcastShapeInference(*a, *b, result);
  onnx::updateOutputShape(context, 0, result);
}

void AddQuantizedElementwise(MicrosoftSchemas& schemas) {
  for (const char* name : {"QLinearAdd", "QLinearMul"}) {
    Define(schemas, name)
        .In("A")
        .In("A_scale", "tensor(float)")
        .OptionalIn("A_zero_point")
        .In("B")
        .In("B_scale", "tensor(float)")
        .OptionalIn("B_zero_point")
        .In("C_scale", "tensor(float)")
        .OptionalIn("C_zero_point")
        .Out("C")
        .Type("T", kBytes)
        .Infer(InferBinary);
  }
  for (const char* name : {"QLinearSigmoid", "QLinearLeakyRelu"}) {
    Define define(schemas, name);
    if (std::string(name) == "QLinearLeakyRelu") define.Float("alpha", 0.01f);
    define.In("X")
        .In("X_scale", "tensor(float)")
        .OptionalIn("X_zero_point")
        .In("Y_scale", "tensor(float)")
        .OptionalIn("Y_zero_point");
    define.Out("Y").Type("T", kBytes).LikeFirstInput();
  }
  Define(schemas, "QLinearSoftmax")
      .Int("axis", -1)
      .RequiredInt("opset")
      .In("X")
      .In("X_scale", "tensor(float)")
      .OptionalIn("x_zero_point")
      .In("y_scale", "tensor(float)")
      .In("y_zero_point")
      .Out("Y")
      .Type("T", kBytes)
      .Body(SoftmaxBody);
  Define(schemas, "QLinearConcat")
      .RequiredInt("axis")
      .In("Y_scale", "TF")
      .In("Y_zero_point", "T8")
      .VariadicIn("inputs", "TV")
      .Out("Y", "T8")
      .Type("T8", kBytes)
      .Type("TF", kFloat)
      .Type("TV", {"tensor(uint8)", "tensor(int8)", "tensor(float)"})
      .Body(ConcatBody);
}

void AddLinearQuantization(MicrosoftSchemas& schemas) {
  const Types quantized = {"tensor(int8)",   "tensor(uint8)", "tensor(int16)",
                           "tensor(uint16)", "tensor(int4)",  "tensor(uint4)"};
  const Types reals = {"tensor(float)", "tensor(float16)"};
  Types wider = quantized;
  wider.push_back("tensor(int32)");
  Define(schemas, "QuantizeLinear")
      .Int("axis")
      .In("x", "T1")
      .In("y_scale", "T1")
      .OptionalIn("y_zero_point", "T2")
      .Out("y", "T2")
      .Type("T1", reals)
      .Type("T2", quantized)
      .Body("y = QuantizeLinear <axis: int = @axis> (x, y_scale, y_zero_point)");
  Define(schemas, "DequantizeLinear")
      .Int("axis")
      .In("x", "T1")
      .In("x_scale", "T2")
      .OptionalIn("x_zero_point", "T1")
      .Out("y", "T2")
      .Type("T1", wider)
      .Type("T2", reals)
      .Body("y = DequantizeLinear <axis: int = @axis> (x, x_scale, x_zero_point)");
}

void AddQuantizedWhere(MicrosoftSchemas& schemas) {
  Define(schemas, "QLinearWhere")
      .In("condition", "B")
      .In("X")
      .In("x_scale", "TF")
      .In("x_zero_point")
      .In("Y")
      .In("y_scale", "TF")
      .In("y_zero_point")
      .In("z_scale", "TF")
      .In("z_zero_point")
      .Out("Z")
      .Type("B", {"tensor(bool)"})
      .Type("TF", kFloat)
      .Type("T", kBytes)
      .Body(kWhere);
}

void AddQuantizedEmbedding(MicrosoftSchemas& schemas) {
  Define(schemas, "QEmbedLayerNormalization")
      .Float("epsilon", 1e-12f)
      .In("input_ids", "T1")
      .OptionalIn("segment_ids", "T1")
      .In("word_embedding_quant", "T2")
      .In("position_embedding_quant", "T2")
      .OptionalIn("segment_embedding", "T2")
      .In("gamma_quant", "T2")
      .In("beta_quant", "T2")
      .OptionalIn("mask", "T1")
      .In("word_embedding_scale")
      .In("position_embedding_scale")
      .OptionalIn("segment_embedding_scale")
      .In("gamma_scale")
      .In("beta_scale")
      .In("word_embedding_zero_point", "T2")
      .In("position_embedding_zero_point", "T2")
      .OptionalIn("segment_embedding_zero_point", "T2")
      .In("gamma_zero_point", "T2")
      .In("beta_zero_point", "T2")
      .Out("layernorm_out")
      .Out("mask_index_out", "T1")
      .Type("T", kFloat)
      .Type("T1", {"tensor(int32)"})
      .Type("T2", kBytes)
      .Body(QEmbedLayerNormalizationBody);
}

void AddQuantizedMatMuls(MicrosoftSchemas& schemas) {
  Define(schemas, "DynamicQuantizeMatMul")
      .In("A", "T1")
      .In("B", "T2")
      .In("b_scale", "T1")
      .OptionalIn("b_zero_point", "T2")
      .OptionalIn("bias", "T1")
      .Out("Y", "T1")
      .Type("T1", kFloat)
      .Type("T2", kBytes)
      .Body(DynamicQuantizeMatMulBody);
  Define(schemas, "MatMulIntegerToFloat")
      .In("A", "T1")
      .In("B", "T2")
      .In("a_scale", "T3")
      .In("b_scale", "T3")
      .OptionalIn("a_zero_point", "T1")
      .OptionalIn("b_zero_point", "T2")
      .OptionalIn("bias", "T3")
      .Out("Y", "T3")
      .Type("T1", kBytes)
      .Type("T2", kBytes)
      .Type("T3", {"tensor(float)", "tensor(float16)"})
      .Body(MatMulIntegerToFloatBody);
  Define(schemas, "QGemm")
      .Float("alpha", 1)
      .Int("transA", 0)
      .Int("transB", 0)
      .In("A", "TA")
      .In("a_scale")
      .In("a_zero_point", "TA")
      .In("B", "TB")
      .In("b_scale")
      .In("b_zero_point", "TB")
      .OptionalIn("C", "TC")
      .OptionalIn("y_scale")
      .OptionalIn("y_zero_point", "TYZ")
      .Out("Y", "TY")
      .Type("T", kFloat)
      .Type("TA", kBytes)
      .Type("TB", kBytes)
      .Type("TC", {"tensor(int32)"})
      .Type("TYZ", kBytes)
      .Type("TY", {"tensor(float)", "tensor(uint8)", "tensor(int8)"})
      .Infer(InferQGemm)
      .Body(QGemmBody);
}

void AddQuantizedAttention(MicrosoftSchemas& schemas) {
  Define(schemas, "QAttention")
      .Int("do_rotary", 0)
      .Float("mask_filter_value")
      .RequiredInt("num_heads")
      .Int("past_present_share_buffer")
      .Float("scale")
      .Int("unidirectional", 0)
      .In("input", "T1")
      .In("weight", "T2")
      .In("bias", "T3")
      .In("input_scale", "T3")
      .In("weight_scale", "T3")
      .OptionalIn("mask_index", "T4")
      .OptionalIn("input_zero_point", "T1")
      .OptionalIn("weight_zero_point", "T2")
      .OptionalIn("past", "T3")
      .Out("output", "T3")
      .OptionalOut("present", "T3")
      .Type("T1", kBytes)
      .Type("T2", kBytes)
      .Type("T3", {"tensor(float)", "tensor(float16)"})
      .Type("T4", {"tensor(int32)"})
      .Body(QAttentionBody);
}

void AddQuantizedLstm(MicrosoftSchemas& schemas) {
  Define(schemas, "DynamicQuantizeLSTM")
      .Floats("activation_alpha")
      .Floats("activation_beta")
      .Strings("activations")
      .Float("clip")
      .String("direction", "forward")
      .Int("hidden_size")
      .Int("input_forget", 0)
      .In("X")
      .In("W", "T2")
      .In("R", "T2")
      .OptionalIn("B")
      .OptionalIn("sequence_lens", "T1")
      .OptionalIn("initial_h")
      .OptionalIn("initial_c")
      .OptionalIn("P")
      .In("W_scale")
      .In("W_zero_point", "T2")
      .In("R_scale")
      .In("R_zero_point", "T2")
      .OptionalOut("Y")
      .OptionalOut("Y_h")
      .OptionalOut("Y_c")
      .Type("T", kFloat)
      .Type("T1", {"tensor(int32)"})
      .Type("T2", kBytes)
      .Body(kDynamicQuantizeLstm);
}

}  // namespace

void AddQuantizationSchemas(MicrosoftSchemas& schemas) {
  AddQuantizedElementwise(schemas);
  AddLinearQuantization(schemas);
  AddQuantizedWhere(schemas);
  AddQuantizedEmbedding(schemas);
  AddQuantizedMatMuls(schemas);
  AddQuantizedAttention(schemas);
  AddQuantizedLstm(schemas);
}

}  // namespace tessera
