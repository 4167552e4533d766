// Text generation: what loops around decoders need.

#include "graph/microsoft/define.h"

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

}  // namespace

void AddGenerationSchemas(MicrosoftSchemas& schemas) {
  Define(schemas, "NGramRepeatBlock")
      .RequiredInt("ngram_size").In("input_ids", "Tid").In("scores").Out("scores_out").Type("Tid", kInt64Only).Type("T", {"tensor(float)"})
      .Infer([](onnx::InferenceContext& context) {
        onnx::propagateElemTypeFromInputToOutput(context, 1, 0);
        if (ShapeOfInput(context, 1) != nullptr) onnx::propagateShapeFromInputToOutput(context, 1, 0);
      });
  Define(schemas, "BifurcationDetector")
      .Int("min_ngram_size", 1).Int("max_ngram_size", 3).In("src_tokens").In("cur_tokens").In("prev_suffix_match_idx").OptionalIn("pred_tokens")
      .Out("tokens").Out("suffix_match_idx").Type("T", kInt64Only).Infer(InferBifurcation);
  Define(schemas, "DynamicTimeWarping")
      .In("input", "F").Out("output", "I").Type("F", {"tensor(float)"}).Type("I", {"tensor(int32)"}).Infer(InferWarping);
}

}  // namespace tessera
