#pragma once

#include "model/model.h"
#include "onnx/onnx_pb.h"

namespace tessera {

/// NodeProto.metadata_props key that carries the opset a function's body imports, where it differs from the model's.
inline constexpr const char* kBodyOpsetKey = "tessera.opset";

/// Replaces every call of a model-local function by its body, nested graphs and calls inside bodies included. Throws
/// Error(kInvalidGraph) when functions call each other without end.
void InlineLocalFunctions(onnx::ModelProto& model);

/// Replaces nodes whose operator ONNX defines as a function, and that `keep` does not want whole, by their bodies. Needs
/// inferred types. True when anything was replaced: then infer types and call again.
bool InlineSchemaFunctions(onnx::ModelProto& model, const decltype(LoadOptions::keep_function)& keep);

/// The version of the node's domain that governs it.
int NodeOpset(const onnx::NodeProto& node, const std::map<std::string, int, std::less<>>& imports);

}  // namespace tessera
