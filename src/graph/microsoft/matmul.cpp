// Matmuls and convolutions.

#include <algorithm>

#include "graph/microsoft/define.h"

namespace tessera {
namespace {

using onnx::TensorShapeProto;
using Dims = std::vector<TensorShapeProto::Dimension>;

/// An operand of FusedMatMul as numpy.matmul would get it.
Dims AsMatrices(const TensorShapeProto& shape, bool transposed, bool batch_first) {
  Dims dims(shape.dim().begin(), shape.dim().end());
  const size_t rank = dims.size();
  if (rank < 2) return dims;
  // [m, batch..., k]: the first dimension goes behind the batch.
  if (batch_first && rank > 2) std::rotate(dims.begin(), dims.begin() + 1, dims.end() - 1);
  if (transposed) std::swap(dims[rank - 1], dims[rank - 2]);
  return dims;
}

TensorShapeProto ToShape(Dims::const_iterator begin, Dims::const_iterator end) {
  TensorShapeProto shape;
  for (; begin != end; ++begin) *shape.add_dim() = *begin;
  return shape;
}

void InferFusedMatMul(onnx::InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  const auto* a = ShapeOfInput(context, 0);
  const auto* b = ShapeOfInput(context, 1);
  if (a == nullptr || b == nullptr || a->dim_size() == 0 || b->dim_size() == 0) return;
  const auto flag = [&](const char* name) { return onnx::getAttribute(context, name, 0) != 0; };
  const Dims left = AsMatrices(*a, flag("transA"), flag("transBatchA"));
  const Dims right = AsMatrices(*b, flag("transB"), flag("transBatchB"));
  const TensorShapeProto left_batch = ToShape(left.begin(), left.end() - std::min<ptrdiff_t>(2, std::ssize(left)));
  const TensorShapeProto right_batch = ToShape(right.begin(), right.end() - std::min<ptrdiff_t>(2, std::ssize(right)));
  TensorShapeProto result;
  onnx::bidirectionalBroadcastShapeInference(left_batch, right_batch, result);
  if (left.size() > 1) *result.add_dim() = left[left.size() - 2];
  if (right.size() > 1) *result.add_dim() = right.back();
  onnx::updateOutputShape(context, 0, result);
}

/// What follows the matmul or the convolution `from`, named as in ai.onnx.
bool AddActivation(onnx::FunctionBuilder& body, const std::string& activation, const std::vector<float>& params) {
  const auto one = [&](const char* op, const char* attribute) {
    body.Add((std::string("Y = ") + op + " (sum)").c_str());
    if (!params.empty()) body.AddAttributes(attribute, params[0]);
    return true;
  };
  const auto two = [&](const char* op, const char* first, const char* second) {
    one(op, first);
    if (params.size() > 1) body.AddAttributes(second, params[1]);
    return true;
  };
  for (const char* plain : {"Relu", "Tanh", "Sigmoid", "Softplus", "Softsign"}) {
    if (activation != plain) continue;
    body.Add(("Y = " + activation + " (sum)").c_str());
    return true;
  }
  if (activation.empty()) {
    body.Add("Y = Identity (sum)");
    return true;
  }
  for (const char* with_alpha : {"LeakyRelu", "Elu", "ThresholdedRelu"}) {
    if (activation == with_alpha) return one(with_alpha, "alpha");
  }
  if (activation == "HardSigmoid") return two("HardSigmoid", "alpha", "beta");
  if (activation == "Selu") return two("Selu", "alpha", "gamma");
  if (activation == "Clip" && params.size() == 2) {
    body.Const("low", params[0]).Const("high", params[1]);
    body.Add("like_low = CastLike (low, sum)").Add("like_high = CastLike (high, sum)");
    body.Add("Y = Clip (sum, like_low, like_high)");
    return true;
  }
  return false;
}

std::vector<float> FloatsOf(const Define::Context& context, const char* name) {
  const auto* given = context.getAttribute(name);
  return given == nullptr ? std::vector<float>() : std::vector<float>(given->floats().begin(), given->floats().end());
}

/// Of X and W where they are channels first, to Y.
bool FusedConvBody(const Define::Context& context, onnx::FunctionBuilder& body) {
  std::string conv = context.hasInput(3) ? "conv" : "sum";
  conv += R"( = Conv <auto_pad: string = @auto_pad, dilations: ints = @dilations, group: int = @group,
              kernel_shape: ints = @kernel_shape, pads: ints = @pads, strides: ints = @strides> (X, W)";
  body.Add((conv + (context.hasInput(2) ? ", B)" : ")")).c_str());
  if (context.hasInput(3)) body.Add("sum = Add (conv, Z)");
  return AddActivation(body, StringOf(context, "activation", ""), FloatsOf(context, "activation_params"));
}

bool FusedGemmBody(const Define::Context& context, onnx::FunctionBuilder& body) {
  const std::string gemm =
      "sum = Gemm <alpha: float = @alpha, beta: float = @beta, transA: int = @transA, transB: int = @transB> (A, B";
  body.Add((gemm + (context.hasInput(2) ? ", C)" : ")")).c_str());
  const std::string activation = StringOf(context, "activation", "");
  const char* second = activation == "Selu" ? "activation_gamma" : "activation_beta";
  std::vector<float> params;
  if (context.getAttribute("activation_alpha") != nullptr) params.push_back(FloatOf(context, "activation_alpha", 0));
  if (!params.empty() && context.getAttribute(second) != nullptr) params.push_back(FloatOf(context, second, 0));
  return AddActivation(body, activation, params);
}

/// Channels are last in X, Z and Y, and in W, which has [outputs, height, width, inputs], unless it is fused.
bool NhwcConvBody(const Define::Context& context, onnx::FunctionBuilder& body, bool fused) {
  body.Add("first = Transpose <perm = [0, 3, 1, 2]> (X)");
  body.Add(fused ? "weights = Identity (W)" : "weights = Transpose <perm = [0, 3, 1, 2]> (W)");
  const std::string conv = R"(conv = Conv <auto_pad: string = @auto_pad, dilations: ints = @dilations, group: int = @group,
              kernel_shape: ints = @kernel_shape, pads: ints = @pads, strides: ints = @strides> (first, weights)";
  body.Add((conv + (context.hasInput(2) ? ", B)" : ")")).c_str());
  body.Add("last = Transpose <perm = [0, 2, 3, 1]> (conv)");
  if (!fused) {
    body.Add("Y = Identity (last)");
    return true;
  }
  body.Add(context.hasInput(3) ? "sum = Add (last, Z)" : "sum = Identity (last)");
  return AddActivation(body, StringOf(context, "activation", ""), FloatsOf(context, "activation_params"));
}

/// Of weights that are N rows of K, transposed or not.
void InferPackedMatMul(onnx::InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  const auto* a = ShapeOfInput(context, 0);
  if (a == nullptr || a->dim_size() == 0) return;
  TensorShapeProto result = *a;
  result.mutable_dim(result.dim_size() - 1)
      ->set_dim_value(onnx::getAttribute(context, onnx::getAttribute(context, "transB", 1) != 0 ? "N" : "K", 0));
  onnx::updateOutputShape(context, 0, result);
}

void AddMatMuls(MicrosoftSchemas& schemas) {
  for (const char* name : {"FusedMatMul", "TransposeMatMul"}) {
    Define define(schemas, name);
    define.Float("alpha", 1).Int("transA", 0).Int("transB", 0).Int("transBatchA", 0).Int("transBatchB", 0);
    define.In("A").In("B").Out("Y").Type("T", kAnyFloat).Infer(InferFusedMatMul);
  }
  Define(schemas, "FusedGemm")
      .String("activation")
      .Float("activation_alpha")
      .Float("activation_beta")
      .Float("activation_gamma")
      .Float("alpha", 1)
      .Float("beta", 1)
      .Int("transA", 0)
      .Int("transB", 0)
      .In("A")
      .In("B")
      .OptionalIn("C")
      .Out("Y")
      .Type("T", {"tensor(float)", "tensor(float16)", "tensor(double)", "tensor(uint32)", "tensor(uint64)", "tensor(int32)",
                  "tensor(int64)"})
      .Body(FusedGemmBody);
  Define(schemas, "MatMulInteger16")
      .In("A", "T1")
      .In("B", "T2")
      .Out("Y", "T3")
      .Type("T1", {"tensor(int16)", "tensor(uint16)"})
      .Type("T2", {"tensor(int16)", "tensor(uint16)"})
      .Type("T3", {"tensor(int32)", "tensor(uint32)"})
      .Body("a = Cast <to = 6> (A) b = Cast <to = 6> (B) Y = MatMul (a, b)");
  Define(schemas, "GemmFastGelu")
      .In("X")
      .In("W")
      .OptionalIn("bias")
      .Out("Y")
      .Type("T", kAnyFloat)
      .Body([](const Define::Context& context, onnx::FunctionBuilder& body) {
        body.Add("matmul = MatMul (X, W)");
        body.Add(context.hasInput(2) ? "Y = com.microsoft.FastGelu (matmul, bias)" : "Y = com.microsoft.FastGelu (matmul)");
        return true;
      });
}

/// A convolution, what it is added to, and the activation of the sum.
Define& FusedConv(Define& schema) {
  return schema.String("activation")
      .Floats("activation_params")
      .With(ConvAttributes)
      .In("X")
      .In("W")
      .OptionalIn("B")
      .OptionalIn("Z")
      .Out("Y");
}

void AddConvolutions(MicrosoftSchemas& schemas) {
  const Types reals = {"tensor(float)", "tensor(float16)"};
  Define(schemas, "FusedConv")
      .With(FusedConv)
      .Type("T", {"tensor(float)", "tensor(float16)", "tensor(double)"})
      .Body(FusedConvBody);
  Define(schemas, "NhwcConv")
      .With(ConvAttributes)
      .In("X")
      .In("W")
      .OptionalIn("B")
      .Out("Y")
      .Type("T", reals)
      .Body([](const Define::Context& context, onnx::FunctionBuilder& body) { return NhwcConvBody(context, body, false); });
  Define(schemas, "NhwcFusedConv")
      .With(FusedConv)
      .Type("T", reals)
      .Body([](const Define::Context& context, onnx::FunctionBuilder& body) { return NhwcConvBody(context, body, true); });
}

void AddBlockQuantizedMatMuls(MicrosoftSchemas& schemas) {
  Define(schemas, "MatMulNBits")
      .RequiredInt("K")
      .RequiredInt("N")
      .Int("bits", 4)
      .RequiredInt("block_size")
      .Int("accuracy_level", 0)
      .Int("weight_prepacked", 0)
      .In("A")
      .In("B", "T2")
      .In("scales")
      .OptionalIn("zero_points", "T3")
      .OptionalIn("g_idx", "T4")
      .OptionalIn("bias")
      .Out("Y")
      .Type("T", kFloatAndHalves)
      .Type("T2", {"tensor(uint8)"})
      .Type("T3", {"tensor(uint8)", "tensor(float)", "tensor(float16)", "tensor(bfloat16)"})
      .Type("T4", {"tensor(int32)"})
      .Infer(InferPackedMatMul);
  Define(schemas, "MatMulBnb4")
      .RequiredInt("K")
      .RequiredInt("N")
      .RequiredInt("block_size")
      .RequiredInt("quant_type")
      .Int("training_mode", 0)
      .Int("transB", 1)
      .In("A")
      .In("B", "T2")
      .In("absmax")
      .Out("Y")
      .Type("T", kFloatAndHalves)
      .Type("T2", {"tensor(uint8)"})
      .Infer(InferPackedMatMul);
}

Define& MixtureAttributes(Define& schema) {
  return schema.String("activation_type", "relu")
      .Int("k", 1)
      .Int("normalize_routing_weights", 0)
      .Int("use_sparse_mixer", 0)
      .Int("swiglu_fusion", 0)
      .Float("swiglu_limit")
      .Float("activation_alpha", 1)
      .Float("activation_beta", 0);
}

void AddMixturesOfExperts(MicrosoftSchemas& schemas) {
  Define(schemas, "MoE")
      .With(MixtureAttributes)
      .In("input")
      .In("router_probs")
      .In("fc1_experts_weights")
      .OptionalIn("fc1_experts_bias")
      .In("fc2_experts_weights")
      .OptionalIn("fc2_experts_bias")
      .OptionalIn("fc3_experts_weights")
      .OptionalIn("fc3_experts_bias")
      .Out("output")
      .Type("T", kFloatAndHalves)
      .LikeFirstInput();
  Define(schemas, "QMoE")
      .With(MixtureAttributes)
      .Int("expert_weight_bits", 4)
      .Int("fc1_expert_weight_bits")
      .Int("fc2_expert_weight_bits")
      .Int("fc3_expert_weight_bits")
      .Int("block_size")
      .Int("accuracy_level", 0)
      .Int("weights_prepacked", 0)
      .String("quant_type", "int")
      .In("input")
      .In("router_probs")
      .In("fc1_experts_weights", "T1")
      .OptionalIn("fc1_scales", "T2")
      .OptionalIn("fc1_experts_bias")
      .In("fc2_experts_weights", "T1")
      .OptionalIn("fc2_scales", "T2")
      .OptionalIn("fc2_experts_bias")
      .OptionalIn("fc3_experts_weights", "T1")
      .OptionalIn("fc3_scales", "T2")
      .OptionalIn("fc3_experts_bias")
      .OptionalIn("fc1_zero_points", "T1")
      .OptionalIn("fc2_zero_points", "T1")
      .OptionalIn("fc3_zero_points", "T1")
      .OptionalIn("router_weights")
      .Out("output")
      .Type("T", kFloatAndHalves)
      .Type("T1", {"tensor(uint8)"})
      .Type("T2", kFloatAndHalves)
      .LikeFirstInput();
}

}  // namespace

void AddMatMulSchemas(MicrosoftSchemas& schemas) {
  AddMatMuls(schemas);
  AddConvolutions(schemas);
  AddBlockQuantizedMatMuls(schemas);
  AddMixturesOfExperts(schemas);
}

}  // namespace tessera
