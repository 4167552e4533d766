#include "optimizer/analysis/added_nodes.h"

#include "graph/check_types.h"

namespace tessera {

bool MayWrite(const Graph& graph, const Node& node, const RewriteContext& context) {
  return !context.writable || graph.opset_version(node.domain) >= node.since_version;
}

bool MayAdd(const Graph& graph, const Node& node, const RewriteContext& context) {
  return MayWrite(graph, node, context) && SchemaAllows(graph, node);
}

}  // namespace tessera
