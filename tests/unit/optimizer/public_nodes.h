#pragma once

#include <string>

#include "graph/graph.h"
#include "graph/schema.h"
#include "onnx/defs/schema.h"

namespace tessera::testing {

/// What a node has that its schema does not know: attributes, or more inputs or outputs than it has.
/// Providers read such nodes by their schema, so that anything else would be overlooked. "" where there is none; nested
/// graphs are looked at, too.
inline std::string BeyondSchemas(const Graph& graph) {
  for (const NodeIndex index : graph.TopologicalOrder()) {
    const Node& node = graph.node(index);
    for (const auto& [name, nested] : graph.Subgraphs(index)) {
      if (std::string beyond = BeyondSchemas(*nested); !beyond.empty()) return beyond;
    }
    const onnx::OpSchema* schema = FindSchema(node);
    if (schema == nullptr) continue;
    for (const Attribute& attribute : node.attributes) {
      if (!schema->attributes().contains(attribute.name)) return node.Label() + " has attribute " + attribute.name;
    }
    if (node.inputs.size() > static_cast<size_t>(schema->max_input()) ||
        node.outputs.size() > static_cast<size_t>(schema->max_output())) {
      return node.Label() + " has more inputs or outputs than its schema";
    }
  }
  return "";
}

}  // namespace tessera::testing
