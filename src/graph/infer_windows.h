#pragma once

#include "tessera/provider/graph.h"

namespace onnx {
struct InferenceContext;
}

namespace tessera {

/// True for operators of onnx whose outputs windows give that slide over the first input.
bool SlidesWindows(const Node& node);

/// Corrects onnx's inference (1.23.2): it rounds what a window is larger than its input towards zero, so that with strides
/// an empty axis becomes one of one element.
void CorrectWindows(const Node& node, onnx::InferenceContext& context);

}  // namespace tessera
