#include "graph/schema.h"

#include "onnx/defs/schema.h"

namespace tessera {

bool IsStandardDomain(std::string_view domain) noexcept {
  return domain.empty() || domain == "ai.onnx.ml" || domain == "ai.onnx.training" || domain == "ai.onnx.preview" ||
         domain == "ai.onnx.preview.training";
}

const onnx::OpSchema* FindSchema(const Node& node) {
  return onnx::OpSchemaRegistry::Schema(node.op_type, node.since_version, node.domain);
}

}  // namespace tessera
