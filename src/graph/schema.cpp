#include "graph/schema.h"

#include "graph/microsoft/schemas.h"
#include "graph/onnx_schemas.h"

namespace tessera {

bool IsStandardDomain(std::string_view domain) noexcept {
  return domain.empty() || domain == "ai.onnx.ml" || domain == "ai.onnx.training" || domain == "ai.onnx.preview" ||
         domain == "ai.onnx.preview.training";
}

const onnx::OpSchema* FindSchema(const std::string& op_type, int opset, const std::string& domain) {
  if (domain == kMicrosoftDomain) return FindMicrosoftSchema(domain, op_type);
  const onnx::OpSchema* schema = FindOnnxSchema(op_type, opset, domain);
  return schema == nullptr && domain.empty() ? FindMicrosoftSchema(domain, op_type) : schema;
}

const onnx::OpSchema* FindSchema(const Node& node) { return FindSchema(node.op_type, node.since_version, node.domain); }

}  // namespace tessera
