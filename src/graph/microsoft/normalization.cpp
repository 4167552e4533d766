// Normalizations.

#include "graph/microsoft/define.h"

namespace tessera {
namespace {

const Types kFloatOnly = {"tensor(float)"};

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
    if (context.hasOutput(i)) onnx::updateOutputElemType(context, i, wide ? onnx::TensorProto::DOUBLE : onnx::TensorProto::FLOAT);
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

}  // namespace

void AddNormalizationSchemas(MicrosoftSchemas& schemas) {
  const Types floats = {"tensor(float)", "tensor(float16)", "tensor(bfloat16)", "tensor(double)"};
  Define(schemas, "SkipLayerNormalization")
      .Float("epsilon", 1e-12f).In("input").In("skip").In("gamma").OptionalIn("beta").OptionalIn("bias")
      .Out("output").OptionalOut("mean", "U").OptionalOut("inv_std_var", "U").OptionalOut("input_skip_bias_sum")
      .Type("T", floats).Type("U", kFloatOnly).Infer(InferSkip);
  Define(schemas, "SkipSimplifiedLayerNormalization")
      .Float("epsilon", 1e-12f).In("input").In("skip").In("gamma").OptionalIn("bias")
      .Out("output").OptionalOut("mean", "U").OptionalOut("inv_std_var", "U").OptionalOut("input_skip_bias_sum")
      .Type("T", floats).Type("U", kFloatOnly).Infer(InferSkip);
  const Types statistics = {"tensor(float)", "tensor(double)"};
  Define(schemas, "SimplifiedLayerNormalization", "")
      .Int("axis", -1).Float("epsilon", 1e-5f).Int("stash_type", 1).In("X").In("scale", "V").Out("Y", "V")
      .OptionalOut("inv_std_var", "U").Type("T", floats).Type("U", statistics).Type("V", floats).Infer(InferLayerNormalization);
  Define(schemas, "LayerNormalization", "")
      .Int("axis", -1).Float("epsilon", 1e-5f).Int("stash_type", 1).In("X").In("Scale", "V").OptionalIn("B", "V").Out("Y", "V")
      .OptionalOut("Mean", "U").OptionalOut("InvStdDev", "U").Type("T", floats).Type("U", statistics).Type("V", floats)
      .Infer(InferLayerNormalization);
  Define(schemas, "EmbedLayerNormalization")
      .Float("epsilon", 1e-12f).Int("mask_index_type")
      .In("input_ids", "T1").OptionalIn("segment_ids", "T1").In("word_embedding").In("position_embedding")
      .OptionalIn("segment_embedding").In("gamma").In("beta").OptionalIn("mask", "T1").OptionalIn("position_ids", "T1")
      .Out("output").OptionalOut("mask_index", "T1").OptionalOut("embedding_sum")
      .Type("T1", {"tensor(int32)"}).Type("T", {"tensor(float)", "tensor(float16)"}).Infer(InferEmbed);
}

}  // namespace tessera
