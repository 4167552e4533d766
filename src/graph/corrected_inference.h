#pragma once

#include "onnx/defs/schema.h"
#include "tessera/provider/graph.h"

namespace tessera {

/// What infers types and shapes of a node: onnx's own function, but where that does not say what the specification does
/// (onnx 1.23.2).
onnx::InferenceFunction InferenceOf(const Node& node, const onnx::OpSchema& schema);

}  // namespace tessera
