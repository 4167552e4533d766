#include "graph/schema.h"

#include <algorithm>

#include "graph/microsoft/schemas.h"
#include "graph/onnx_schemas.h"
#include "graph/private_names.h"
#include "graph/private_schemas.h"
#include "onnx/defs/schema.h"

namespace tessera {
namespace {

AttributeValue ValueOf(const onnx::AttributeProto& proto) {
  switch (proto.type()) {
    case onnx::AttributeProto::INT: return proto.i();
    case onnx::AttributeProto::FLOAT: return proto.f();
    case onnx::AttributeProto::STRING: return proto.s();
    case onnx::AttributeProto::INTS: return std::vector<int64_t>(proto.ints().begin(), proto.ints().end());
    case onnx::AttributeProto::FLOATS: return std::vector<float>(proto.floats().begin(), proto.floats().end());
    case onnx::AttributeProto::STRINGS: return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    default: return {};
  }
}

}  // namespace

bool IsStandardDomain(std::string_view domain) noexcept {
  return domain.empty() || domain == "ai.onnx.ml" || domain == "ai.onnx.training" || domain == "ai.onnx.preview" ||
         domain == "ai.onnx.preview.training";
}

const onnx::OpSchema* FindSchema(const std::string& op_type, int opset, const std::string& domain) {
  if (domain == kMicrosoftDomain) return FindMicrosoftSchema(domain, op_type);
  if (domain == kTesseraDomain) return FindPrivateSchema(op_type);
  const onnx::OpSchema* schema = FindOnnxSchema(op_type, opset, domain);
  return schema == nullptr && domain.empty() ? FindMicrosoftSchema(domain, op_type) : schema;
}

const onnx::OpSchema* FindSchema(const Node& node) { return FindSchema(node.op_type, node.since_version, node.domain); }

const onnx::OpSchema* FindSchemaBehindLayout(const Node& node) {
  return node.domain == kChannelsLastDomain ? FindSchema(node.op_type, node.since_version, "") : FindSchema(node);
}

std::vector<Attribute> DefaultAttributes(const Node& node) {
  std::vector<Attribute> defaults;
  const onnx::OpSchema* schema = FindSchemaBehindLayout(node);
  if (schema == nullptr) return defaults;
  for (const auto& [name, attribute] : schema->attributes()) {
    if (attribute.required || node.FindAttribute(name) != nullptr) continue;
    AttributeValue value = ValueOf(attribute.default_value);
    if (!std::holds_alternative<std::monostate>(value)) defaults.push_back({name, std::move(value)});
  }
  std::ranges::sort(defaults, {}, &Attribute::name);  // the schema has no order
  return defaults;
}

}  // namespace tessera
