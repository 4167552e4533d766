#pragma once

#include "onnx/onnx_pb.h"

namespace tessera {

/// Checks every node of a standard domain against its schema: counts of inputs and outputs, attributes and their types.
/// Throws Error(kInvalidGraph) naming the node.
void CheckNodes(const onnx::ModelProto& model);

/// Infers types and shapes of every value, nested graphs included, and writes them to value_info and the outputs. Where a node's
/// types cannot be inferred its outputs stay unknown: kernels check again when they run. Call CheckNodes first: schemas'
/// inference functions trust what it checks.
void InferTypes(onnx::ModelProto& model);

}  // namespace tessera
