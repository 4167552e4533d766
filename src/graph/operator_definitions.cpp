#include "graph/operator_definitions.h"

#include <limits>
#include <string>

#include "graph/onnx_schemas.h"
#include "graph/schema.h"

namespace tessera {

const ExecutionProvider* OperatorDefinitions::Find(std::string_view domain, std::string_view op_type, int opset) const {
  for (const ExecutionProvider* provider : providers_) {
    if (!provider->Defines(domain, op_type, opset)) continue;
    const bool is_onnx = IsStandardDomain(domain) && FindOnnxSchema(op_type, opset, domain) != nullptr;
    return is_onnx ? nullptr : provider;
  }
  return nullptr;
}

const ExecutionProvider* DefinerOf(const Graph& graph, const Node& node) {
  const OperatorDefinitions* definitions = graph.definitions();
  return definitions == nullptr ? nullptr : definitions->Find(node.domain, node.op_type, node.since_version);
}

const onnx::OpSchema* FindSchema(const Graph& graph, const Node& node) {
  return DefinerOf(graph, node) == nullptr ? FindSchema(node) : nullptr;
}

}  // namespace tessera
