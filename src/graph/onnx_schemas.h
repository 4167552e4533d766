#pragma once

#include <limits>
#include <string_view>

namespace onnx {
class OpSchema;
}

namespace tessera {

/// What onnx::OpSchemaRegistry::Schema answers: the newest version up to `opset`, null when there is none. Makes that one
/// schema, where the registry makes hundreds first. Schemas live as long as the process.
const onnx::OpSchema* FindOnnxSchema(std::string_view op_type, int opset = std::numeric_limits<int>::max(),
                                     std::string_view domain = {});

}  // namespace tessera
