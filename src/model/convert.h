#pragma once

#include <memory>

#include "graph/graph.h"
#include "model/proto.h"

namespace tessera {

/// The model's main graph with everything nested in it. Throws Error(kInvalidGraph) naming the node, the value and the
/// reason: unknown operators and values, wrong numbers of inputs or outputs, missing or mistyped attributes, cycles.
std::unique_ptr<Graph> ConvertModel(const onnx::ModelProto& model, const TensorDataSource& source);

}  // namespace tessera
