#pragma once

// Schemas of the operators of ai.tessera, which rewrites make of ONNX's for kernels of Tessera's own: what each reads,
// writes and is told. What it computes stands in its kernel's file.

#include <string_view>

namespace onnx {
class OpSchema;
}

namespace tessera {

/// Null where there is none.
const onnx::OpSchema* FindPrivateSchema(std::string_view op_type);

}  // namespace tessera
