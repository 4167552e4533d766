#pragma once

// Attributes that their operators do not have: a misspelt one is ignored, and the default that holds instead changes the
// results.

#include <string>
#include <vector>

#include "base/load_limits.h"
#include "onnx/onnx_pb.h"

namespace tessera {

/// A sentence for each attribute of the model's nodes, nested graphs and functions included, that the schema of the node's
/// operator does not have at the version that the model imports, or the model's own function that it calls. Operators
/// without a schema are not looked at. Throws Error where the load is stopped.
std::vector<std::string> UnknownAttributes(const onnx::ModelProto& model, const LoadLimits& limits);

}  // namespace tessera
