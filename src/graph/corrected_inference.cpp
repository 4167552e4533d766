#include "graph/corrected_inference.h"

#include <algorithm>
#include <string_view>

#include "graph/infer_attention.h"
#include "graph/infer_range.h"
#include "graph/onnx_schemas.h"
#include "graph/private_names.h"

namespace tessera {
namespace {

/// Whether onnx's inference of Einsum comes to an end: on anything in a term but letters and one ellipsis, even on the
/// blanks that the specification allows, it never does (onnx 1.23.2, einsumShapeInference).
bool EinsumInferenceEnds(const Node& node) {
  const AttributeValue* attribute = node.FindAttribute("equation");
  const auto* equation = attribute == nullptr ? nullptr : std::get_if<std::string>(attribute);
  if (equation == nullptr) return true;
  std::string_view left = *equation;
  left = left.substr(0, left.find("->"));
  bool ellipsis = false;
  for (size_t i = 0; i < left.size(); ++i) {
    const char c = left[i];
    if (c == ',') {
      ellipsis = false;
    } else if (!ellipsis && left.substr(i, 3) == "...") {
      ellipsis = true;
      i += 2;
    } else if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z')) {
      return false;
    }
  }
  return true;
}

}  // namespace

onnx::InferenceFunction InferenceOf(const Node& node, const onnx::OpSchema& schema) {
  const bool is_pool = node.domain.empty() && (node.op_type == "MaxPool" || node.op_type == "AveragePool");
  if (is_pool && node.FindAttribute("ceil_mode") != nullptr) {
    // Before version 22 it has windows that start in the padding after the data, which no version computes.
    return FindOnnxSchema(node.op_type)->GetTypeAndShapeInferenceFunction();
  }
  if (node.domain.empty() && node.op_type == "Einsum" && !EinsumInferenceEnds(node)) {
    return [](onnx::InferenceContext& context) { onnx::propagateElemTypeFromInputToOutput(context, 0, 0); };
  }
  if (node.domain.empty() && node.op_type == "RMSNormalization") {
    // The result has the scale's type, by the schema too; its inference gives it that of X.
    return [inference = schema.GetTypeAndShapeInferenceFunction()](onnx::InferenceContext& context) {
      inference(context);
      onnx::propagateElemTypeFromInputToOutput(context, 1, 0);
    };
  }
  if (node.domain.empty() && node.op_type == "Range") {
    return [inference = schema.GetTypeAndShapeInferenceFunction()](onnx::InferenceContext& context) {
      if (!InferRange(context)) inference(context);
    };
  }
  if (node.domain.empty() && (node.op_type == "GroupNormalization" || node.op_type == "MeanVarianceNormalization"))
    return onnx::propagateShapeAndTypeFromFirstInput;  // of which onnx infers nothing
  if (node.domain.empty() && node.op_type == "Attention") {
    return [inference = schema.GetTypeAndShapeInferenceFunction()](onnx::InferenceContext& context) {
      inference(context);
      CorrectAttention(context);
    };
  }
  return schema.GetTypeAndShapeInferenceFunction();
}

}  // namespace tessera
