// Activations.

#include "graph/microsoft/define.h"

namespace tessera {
namespace {

using Context = Define::Context;
using Body = onnx::FunctionBuilder;

/// The softmax is over everything from the axis on. A bias broadcasts from behind; or, where it is for outer dimensions,
/// has ones between its first dimensions and those from the axis on.
bool BiasSoftmaxBody(const Context& context, Body& body) {
  const auto* data = context.getInputType(0);
  if (data == nullptr || !data->tensor_type().has_shape()) return false;
  const int64_t rank = data->tensor_type().shape().dim_size();
  int64_t axis = IntOf(context, "axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return false;
  body.Add("sum = Add (data, bias)");
  if (axis == rank - 1) {
    body.Add("output = Softmax <axis = -1> (sum)");
    return true;
  }
  body.Add(
      "shape = Shape (sum) flat = Flatten <axis: int = @axis> (sum) row = Softmax <axis = -1> (flat) output = Reshape "
      "(row, shape)");
  return true;
}

bool BiasDropoutBody(const Context& context, Body& body) {
  const std::string results = context.hasOutput(1) ? "dropped, mask" : "dropped";
  body.Add(("sum = Add (data, bias) " + results + " = Dropout <seed: int = @seed> (sum, ratio, training_mode)").c_str());
  body.Add(context.hasInput(2) ? "output = Add (dropped, residual)" : "output = Identity (dropped)");
  return true;
}

void AddGelus(MicrosoftSchemas& schemas) {
  Define(schemas, "Gelu").In("X").Out("Y").Type("T", kAnyFloat).LikeFirstInput().Body("Y = Gelu(X)");
  Define(schemas, "QuickGelu")
      .Float("alpha", 1.702f)
      .In("X")
      .Out("Y")
      .Type("T", kAnyFloat)
      .LikeFirstInput()
      .Body("Y = Swish <alpha: float = @alpha> (X)");
  Define(schemas, "BiasGelu").In("A").In("B").Out("C").Type("T", kAnyFloat).LikeFirstInput();
  Define(schemas, "FastGelu")
      .In("X")
      .OptionalIn("bias")
      .Out("Y")
      .Type("T", kAnyFloat)
      .LikeFirstInput()
      .Body([](const Define::Context& context, onnx::FunctionBuilder& body) {
        if (context.hasInput(1)) return false;
        body.Add(R"(Y = Gelu <approximate = "tanh"> (X))");
        return true;
      });
  Define(schemas, "BiasSplitGelu").In("X").In("bias").Out("Y").Type("T", {"tensor(float)", "tensor(float16)"}).Body(R"(
      sum = Add (X, bias)
      left, right = Split <axis = -1, num_outputs = 2> (sum)
      gelu = Gelu (right)
      Y = Mul (left, gelu))");
}

void AddWithBias(MicrosoftSchemas& schemas) {
  Define(schemas, "BiasAdd")
      .In("X")
      .In("bias")
      .In("skip")
      .Out("Y")
      .Type("T", kFloatAndHalves)
      .Body("sum = Add (X, bias) Y = Add (sum, skip)");
  Define(schemas, "GatedAdd")
      .In("X")
      .In("Y")
      .In("gate")
      .Out("output")
      .Type("T", kFloatAndHalves)
      .Body("gated = Mul (Y, gate) output = Add (X, gated)");
  // Rounded to T after each step.
  Define(schemas, "ScaledSiLU")
      .Float("alpha", 1)
      .In("X")
      .OptionalIn("scale", "M")
      .Out("Y")
      .Type("T", kFloatAndHalves)
      .Type("M", kFloatAndHalves)
      .Body([](const Context& context, Body& body) {
        body.Const("alpha", FloatOf(context, "alpha", 1));
        body.Add(
            context.hasInput(1)
                ? "factor = Cast <to = 1> (scale) flat = Constant <value = int64[1] {-1}> () by = Reshape (factor, flat)"
                : "by = Identity (alpha)");
        body.Add(
            "wide = Cast <to = 1> (X) z_wide = Mul (wide, by) z = CastLike (z_wide, X) s = Sigmoid (z) y = Mul (z, s) "
            "shape = Shape (X) Y = Reshape (y, shape)");
        return true;
      });
  Define(schemas, "BiasSoftmax")
      .Int("axis", 1)
      .RequiredInt("is_inner_broadcast")
      .In("data")
      .In("bias")
      .Out("output")
      .Type("T", kAnyFloat)
      .Body(BiasSoftmaxBody);
  Define(schemas, "BiasDropout")
      .Int("seed")
      .In("data")
      .In("bias")
      .OptionalIn("residual")
      .OptionalIn("ratio", "T1")
      .OptionalIn("training_mode", "T2")
      .Out("output")
      .OptionalOut("mask", "T2")
      .Type("T", kAnyFloat)
      .Type("T1", kAnyFloat)
      .Type("T2", {"tensor(bool)"})
      .Body(BiasDropoutBody);
}

}  // namespace

void AddActivationSchemas(MicrosoftSchemas& schemas) {
  AddGelus(schemas);
  AddWithBias(schemas);
}

}  // namespace tessera
