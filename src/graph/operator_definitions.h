#pragma once

// Operators that providers of a session define, beside ONNX's and the contributed ones.

#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "tessera/provider/execution_provider.h"

namespace onnx {
class OpSchema;
}

namespace tessera {

class OperatorDefinitions {
 public:
  /// In priority order. They outlive the definitions.
  explicit OperatorDefinitions(std::vector<const ExecutionProvider*> providers) : providers_(std::move(providers)) {}

  /// The first provider that defines the operator; null: none does, or it is one of ONNX's own.
  const ExecutionProvider* Find(std::string_view domain, std::string_view op_type, int opset) const;

 private:
  std::vector<const ExecutionProvider*> providers_;
};

/// Who defines a node's operator; null: no provider of the session.
const ExecutionProvider* DefinerOf(const Graph& graph, const Node& node);

/// Whether the provider is who defines it: not where the operator is ONNX's, or another provider comes first.
inline bool IsOwn(const ExecutionProvider& provider, const GraphViewer& graph, const Node& node) {
  return DefinerOf(graph.graph(), node) == &provider;
}

/// FindSchema of a node whose operator no provider of the session defines.
const onnx::OpSchema* FindSchema(const Graph& graph, const Node& node);

}  // namespace tessera
