#include "graph/private_schemas.h"

#include "graph/microsoft/define.h"
#include "graph/private_names.h"

namespace tessera {
namespace {

class DefinePrivate : public Define {
 public:
  DefinePrivate(MicrosoftSchemas& schemas, std::string op_type)
      : Define(schemas, std::move(op_type), std::string(kTesseraDomain)) {}
};

/// cpu/fused_activation.h writes them.
Define& Activation(Define& schema) {
  return schema.String("activation").Float("activation_alpha").Float("activation_beta");
}

/// Of Nchw8cConv and its transpose: what is added to the result before the activation, and the slopes of PRelu.
Define& Nchw8cOperands(Define& schema) {
  return schema.In("X").In("W").OptionalIn("B").OptionalIn("residual").OptionalIn("slopes").Out("Y").Type("T", kFloatOnly);
}

Define& PoolAttributes(Define& schema) {
  return schema.String("auto_pad", "NOTSET")
      .Int("ceil_mode", 0)
      .Ints("dilations")
      .RequiredInts("kernel_shape")
      .Ints("pads")
      .Ints("strides");
}

/// NCHW8c: [N, C/8, ..., 8].
void AddNchw8c(MicrosoftSchemas& schemas) {
  DefinePrivate(schemas, "ToNchw8c").In("X").Out("Y").Type("T", kFloatOnly);
  DefinePrivate(schemas, "FromNchw8c").RequiredInt("channels").In("X").Out("Y").Type("T", kFloatOnly);
  DefinePrivate(schemas, "Nchw8cShape")
      .RequiredInt("channels")
      .Int("start", 0)
      .Int("end")
      .In("X")
      .Out("shape", "tensor(int64)")
      .Type("T", kFloatOnly);
  DefinePrivate(schemas, "Nchw8cConv")
      .With(ConvAttributes)
      .With(Activation)
      .Int("plain_input", 0)
      .Int("from_nchw", 0)
      .With(Nchw8cOperands);
  DefinePrivate(schemas, "Nchw8cConvTranspose")
      .With(ConvAttributes)
      .With(Activation)
      .Ints("output_padding")
      .Ints("output_shape")
      .With(Nchw8cOperands);
  DefinePrivate(schemas, "Nchw8cMaxPool")
      .With(PoolAttributes)
      .Int("storage_order", 0)
      .In("X")
      .Out("Y")
      .Type("T", kFloatOnly);
  DefinePrivate(schemas, "Nchw8cAveragePool")
      .With(PoolAttributes)
      .Int("count_include_pad", 0)
      .In("X")
      .Out("Y")
      .Type("T", kFloatOnly);
  DefinePrivate(schemas, "Nchw8cGlobalAveragePool").In("X").Out("Y").Type("T", kFloatOnly);
  DefinePrivate(schemas, "Nchw8cGroupNormalization")
      .Float("epsilon", 1e-5f)
      .RequiredInt("num_groups")
      .In("X")
      .In("scale")
      .In("bias")
      .Out("Y")
      .Type("T", kFloatOnly);
  DefinePrivate(schemas, "Nchw8cScale").In("X").In("scale").Out("Y").Type("T", kFloatOnly);
  DefinePrivate(schemas, "Nchw8cShift").In("X").In("shift").Out("Y").Type("T", kFloatOnly);
}

/// Channels last.
void AddNhwc(MicrosoftSchemas& schemas) {
  DefinePrivate(schemas, "DepthwiseConvNhwc")
      .With(ConvAttributes)
      .In("X")
      .In("W")
      .OptionalIn("B")
      .Out("Y")
      .Type("T", kFloatOnly);
  DefinePrivate(schemas, "QLinearConvNhwc").With(ConvAttributes).With(QLinearConvOperands);
  DefinePrivate(schemas, "MaxPoolNhwc").With(PoolAttributes).Int("storage_order", 0).In("X").Out("Y").Type("T", kBytes);
}

/// ONNX's, whose operands may broadcast, be columns of wider tensors, and have rows without a key.
void AddAttention(MicrosoftSchemas& schemas) {
  DefinePrivate(schemas, "Attention")
      .Int("is_causal", 0)
      .Int("kv_num_heads")
      .Int("q_num_heads")
      .Int("qk_matmul_output_mode", 0)
      .Int("left_window_size", -1)
      .Int("right_window_size", -1)
      .Float("scale")
      .Float("softcap", 0.0f)
      .Int("softmax_precision")
      .Int("broadcast", 0)
      .Int("nan_rows", 0)
      .Ints("columns")
      .In("Q", "T1")
      .In("K", "T1")
      .In("V", "T2")
      .OptionalIn("attn_mask", "U")
      .OptionalIn("past_key", "T1")
      .OptionalIn("past_value", "T2")
      .OptionalIn("nonpad_kv_seqlen", "tensor(int64)")
      .Out("Y", "T1")
      .OptionalOut("present_key", "T1")
      .OptionalOut("present_value", "T2")
      .OptionalOut("qk_matmul_output", "T1")
      .Type("T1", kAnyFloat)
      .Type("T2", kAnyFloat)
      .Type("U", {"tensor(float)", "tensor(double)", "tensor(float16)", "tensor(bfloat16)", "tensor(bool)"});
}

void AddFused(MicrosoftSchemas& schemas) {
  DefinePrivate(schemas, "FusedConv")
      .With(ConvAttributes)
      .With(Activation)
      .In("X")
      .In("W")
      .OptionalIn("B")
      .Out("Y")
      .Type("T", kAnyFloat);
  // The weights may be half as wide as what they are multiplied with.
  DefinePrivate(schemas, "Linear")
      .With(Activation)
      .Int("transB", 0)
      .In("X")
      .In("W", "T2")
      .OptionalIn("B")
      .OptionalIn("residual")
      .Out("Y")
      .Type("T", kFloatOnly)
      .Type("T2", kFloatAndHalves);
  // y = table[x] for bytes.
  DefinePrivate(schemas, "QuantizedLookup")
      .In("X", "T1")
      .In("table", "tensor(uint8)")
      .Out("Y", "T2")
      .Type("T1", kBytes)
      .Type("T2", kBytes);
  // Positions along each of the first axes.
  DefinePrivate(schemas, "ScatterGrid")
      .In("data")
      .In("updates")
      .VariadicIn("indices", "tensor(int64)")
      .Out("Y")
      .Type("T", onnx::OpSchema::all_tensor_types_ir13());
}

}  // namespace

const onnx::OpSchema* FindPrivateSchema(std::string_view op_type) {
  static const MicrosoftSchemas schemas = [] {
    MicrosoftSchemas made;
    AddNchw8c(made);
    AddNhwc(made);
    AddAttention(made);
    AddFused(made);
    return made;
  }();
  const auto found = schemas.find(std::pair<std::string, std::string>(kTesseraDomain, op_type));
  return found == schemas.end() ? nullptr : &found->second;
}

}  // namespace tessera
