#pragma once

// A graph of the runtime's, written as an ONNX model: what an engine with an importer of its own can read.

#include <string>
#include <vector>

#include "api.h"

namespace teaching {

/// Whether tensors of the type can be written: all but texts.
bool IsWritable(ONNXTensorElementDataType type);
/// Whether the attribute can be written: the interface shows no sparse tensors and no types.
bool IsWritable(const Api& api, const OrtOpAttr& attribute);

/// The bytes of a model file. Its inputs and outputs are those of the fused node, in its order; the constants that its
/// nodes read are inside.
std::string WriteOnnx(const Api& api, const OrtGraph& graph, const OrtNode& fused_node);

}  // namespace teaching
