// Normalizations.

#include "graph/microsoft/define.h"

namespace tessera {
namespace {

const Types kAllFloats = {"tensor(float)", "tensor(float16)", "tensor(bfloat16)", "tensor(double)"};

void InferSkip(onnx::InferenceContext& context) {
  onnx::propagateShapeAndTypeFromFirstInput(context);
  for (size_t i = 1; i < context.getNumOutputs(); ++i) {
    if (!context.hasOutput(i)) continue;
    const auto* shape = ShapeOfInput(context, 0);
    if (i == 3) {
      onnx::propagateElemTypeFromInputToOutput(context, 0, i);
      onnx::propagateShapeFromInputToOutput(context, 0, i);
      continue;
    }
    onnx::updateOutputElemType(context, i, onnx::TensorProto::FLOAT);
    if (shape == nullptr || shape->dim_size() == 0) continue;
    onnx::TensorShapeProto reduced = *shape;
    reduced.mutable_dim(reduced.dim_size() - 1)->set_dim_value(1);
    onnx::updateOutputShape(context, i, reduced);
  }
}

/// ONNX Runtime's LayerNormalization and its like of ai.onnx version 1: Y has the scale's type.
void InferLayerNormalization(onnx::InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 1, 0);
  for (size_t i = 1; i < context.getNumOutputs(); ++i) {
    const bool wide = context.getInputType(0) != nullptr &&
                      context.getInputType(0)->tensor_type().elem_type() == onnx::TensorProto::DOUBLE;
    if (context.hasOutput(i))
      onnx::updateOutputElemType(context, i, wide ? onnx::TensorProto::DOUBLE : onnx::TensorProto::FLOAT);
  }
  const auto* shape = ShapeOfInput(context, 0);
  if (shape == nullptr) return;
  onnx::updateOutputShape(context, 0, *shape);
  const int64_t rank = shape->dim_size();
  int64_t axis = onnx::getAttribute(context, "axis", -1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return;
  onnx::TensorShapeProto reduced = *shape;
  for (int64_t i = axis; i < rank; ++i) reduced.mutable_dim(static_cast<int>(i))->set_dim_value(1);
  for (size_t i = 1; i < context.getNumOutputs(); ++i) {
    if (context.hasOutput(i)) onnx::updateOutputShape(context, i, reduced);
  }
}

void InferEmbed(onnx::InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 2, 0);
  const bool has_mask = context.getNumOutputs() > 1 && context.hasOutput(1);
  const bool has_sum = context.getNumOutputs() > 2 && context.hasOutput(2);
  if (has_mask) onnx::updateOutputElemType(context, 1, onnx::TensorProto::INT32);
  if (has_sum) onnx::propagateElemTypeFromInputToOutput(context, 2, 2);
  const auto* ids = ShapeOfInput(context, 0);
  const auto* words = ShapeOfInput(context, 2);
  if (ids == nullptr || words == nullptr || ids->dim_size() != 2 || words->dim_size() != 2) return;
  onnx::TensorShapeProto result = *ids;
  *result.add_dim() = words->dim(1);
  onnx::updateOutputShape(context, 0, result);
  if (has_sum) onnx::updateOutputShape(context, 2, result);
  onnx::TensorShapeProto batch;
  *batch.add_dim() = ids->dim(0);
  if (has_mask) onnx::updateOutputShape(context, 1, batch);
}

using Context = Define::Context;
using Body = onnx::FunctionBuilder;

/// Of Stable Diffusion: channels last unless told otherwise, statistics in float32, then perhaps x * sigmoid(x).
bool GroupNormBody(const Context& context, Body& body, bool skips) {
  const bool last = IntOf(context, "channels_last", 1) != 0;
  const int64_t activation = IntOf(context, "activation", 0);
  if (activation != 0 && activation != 1) return false;
  std::string x = "X";
  if (skips) {
    // A skip of two dimensions is one for each image and channel.
    const auto* skip = context.getInputType(3);
    if (skip == nullptr || !skip->tensor_type().has_shape()) return false;
    body.Add(
        "places = Constant <value = int64[4] {0, 1, 1, -1}> () channels = Constant <value = int64[4] {0, -1, 1, 1}> ()");
    body.Add(last ? "at = Identity (places)" : "at = Identity (channels)");
    body.Add(skip->tensor_type().shape().dim_size() == 2 ? "other = Reshape (skip, at)" : "other = Identity (skip)");
    if (context.hasInput(4)) {
      body.Add("with_skip = Add (X, other)");
      body.Const("spread", last ? std::vector<int64_t>{1, 1, 1, -1} : std::vector<int64_t>{1, -1, 1, 1});
      body.Add("row = Reshape (bias, spread) total = Add (with_skip, row)");
    } else {
      body.Add("total = Add (X, other)");
    }
    if (context.hasOutput(1)) body.Add("S = Identity (total)");
    x = "total";
  }
  body.Add(last ? ("first = Transpose <perm = [0, 3, 1, 2]> (" + x + ")").c_str()
                : ("first = Identity (" + x + ")").c_str());
  body.Add(R"(
      wide = Cast <to = 1> (first)
      scale = Cast <to = 1> (gamma)
      shift = Cast <to = 1> (beta)
      normal = GroupNormalization <epsilon: float = @epsilon, num_groups: int = @groups> (wide, scale, shift))");
  body.Add(activation == 1 ? "active = Swish (normal)" : "active = Identity (normal)");
  body.Add("narrow = CastLike (active, X)");
  body.Add(last ? "Y = Transpose <perm = [0, 2, 3, 1]> (narrow)" : "Y = Identity (narrow)");
  return true;
}

/// Over the last `C` elements, where C is the scale's length, and in float32.
bool GatedRmsNormBody(const Context& context, Body& body) {
  const std::string activation = StringOf(context, "activation", "silu");
  if (activation != "silu" && activation != "swish" && activation != "sigmoid") return false;
  body.Add(R"(
      rows = Constant <value = int64[1] {-1}> ()
      shape = Shape (X)
      length = Shape (scale)
      apart = Concat <axis = 0> (rows, length)
      wide = Cast <to = 1> (X)
      weights = Cast <to = 1> (scale)
      groups = Reshape (wide, apart)
      normal = RMSNormalization <axis = -1, epsilon: float = @epsilon> (groups, weights)
      together = Reshape (normal, shape)
      opening = Cast <to = 1> (gate))");
  body.Add(activation == "sigmoid" ? "factor = Sigmoid (opening)" : "factor = Swish (opening)");
  body.Add("product = Mul (together, factor) Y = CastLike (product, X)");
  return true;
}

Define& SkipOutputs(Define& schema) {
  return schema.OptionalIn("bias")
      .Out("output")
      .OptionalOut("mean", "U")
      .OptionalOut("inv_std_var", "U")
      .OptionalOut("input_skip_bias_sum")
      .Type("T", kAllFloats)
      .Type("U", kFloatOnly)
      .Infer(InferSkip);
}

void AddLayerNormalizations(MicrosoftSchemas& schemas) {
  const Types statistics = {"tensor(float)", "tensor(double)"};
  Define(schemas, "SkipLayerNormalization")
      .Float("epsilon", 1e-12f)
      .In("input")
      .In("skip")
      .In("gamma")
      .OptionalIn("beta")
      .With(SkipOutputs);
  Define(schemas, "SkipSimplifiedLayerNormalization")
      .Float("epsilon", 1e-12f)
      .In("input")
      .In("skip")
      .In("gamma")
      .With(SkipOutputs);
  Define(schemas, "SimplifiedLayerNormalization", "")
      .Int("axis", -1)
      .Float("epsilon", 1e-5f)
      .Int("stash_type", 1)
      .In("X")
      .In("scale", "V")
      .Out("Y", "V")
      .OptionalOut("inv_std_var", "U")
      .Type("T", kAllFloats)
      .Type("U", statistics)
      .Type("V", kAllFloats)
      .Infer(InferLayerNormalization);
  Define(schemas, "LayerNormalization", "")
      .Int("axis", -1)
      .Float("epsilon", 1e-5f)
      .Int("stash_type", 1)
      .In("X")
      .In("Scale", "V")
      .OptionalIn("B", "V")
      .Out("Y", "V")
      .OptionalOut("Mean", "U")
      .OptionalOut("InvStdDev", "U")
      .Type("T", kAllFloats)
      .Type("U", statistics)
      .Type("V", kAllFloats)
      .Infer(InferLayerNormalization);
}

Define& GroupNormalization(Define& schema) {
  return schema.RequiredInt("activation")
      .Int("channels_last", 1)
      .Float("epsilon", 1e-5f)
      .RequiredInt("groups")
      .In("X")
      .In("gamma", "M")
      .In("beta", "M");
}

void AddGroupNormalizations(MicrosoftSchemas& schemas) {
  Define(schemas, "GroupNorm")
      .With(GroupNormalization)
      .Out("Y")
      .Type("T", kFloatAndHalves)
      .Type("M", kFloatAndHalves)
      .Body([](const Context& context, Body& body) { return GroupNormBody(context, body, false); });
  Define(schemas, "SkipGroupNorm")
      .With(GroupNormalization)
      .In("skip")
      .OptionalIn("bias")
      .Out("Y")
      .OptionalOut("S")
      .Type("T", kFloatAndHalves)
      .Type("M", kFloatAndHalves)
      .Body([](const Context& context, Body& body) { return GroupNormBody(context, body, true); });
}

void AddOtherNormalizations(MicrosoftSchemas& schemas) {
  Define(schemas, "GatedRMSNorm")
      .String("activation", "silu")
      .Float("epsilon", 1e-5f)
      .In("X")
      .In("scale")
      .In("gate")
      .Out("Y")
      .Type("T", kFloatAndHalves)
      .Body(GatedRmsNormBody);
  Define(schemas, "EmbedLayerNormalization")
      .Float("epsilon", 1e-12f)
      .Int("mask_index_type")
      .In("input_ids", "T1")
      .OptionalIn("segment_ids", "T1")
      .In("word_embedding")
      .In("position_embedding")
      .OptionalIn("segment_embedding")
      .In("gamma")
      .In("beta")
      .OptionalIn("mask", "T1")
      .OptionalIn("position_ids", "T1")
      .Out("output")
      .OptionalOut("mask_index", "T1")
      .OptionalOut("embedding_sum")
      .Type("T1", {"tensor(int32)"})
      .Type("T", {"tensor(float)", "tensor(float16)"})
      .Infer(InferEmbed);
}

}  // namespace

void AddNormalizationSchemas(MicrosoftSchemas& schemas) {
  AddLayerNormalizations(schemas);
  AddGroupNormalizations(schemas);
  AddOtherNormalizations(schemas);
}

}  // namespace tessera
