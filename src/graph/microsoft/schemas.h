#pragma once

// Schemas of the com.microsoft operators that exporters and ONNX Runtime's optimizer write, and of the few that it puts
// into ai.onnx. Where such an operator is a composition of ONNX's, its schema has a function body, which stands for it
// wherever no provider has a kernel.

#include <string_view>

namespace onnx {
class OpSchema;
}

namespace tessera {

inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";

/// The schema; null where there is none. `domain` is kMicrosoftDomain or empty.
const onnx::OpSchema* FindMicrosoftSchema(std::string_view domain, std::string_view op_type);

}  // namespace tessera
