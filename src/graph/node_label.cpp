#include "graph/node_label.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shortened.h"
#include "graph/private_names.h"
#include "graph/provenance.h"

namespace tessera {
namespace {

/// A node that stands for what a provider compiles is in no graph: what gives its first result is.
NodeIndex InGraph(const Graph& graph, const Node& node) {
  if (node.index != kNone) return node.index;
  const auto output = std::ranges::find_if(node.outputs, [](ValueIndex one) { return one != kNone; });
  return output == node.outputs.end() ? kNone : graph.value(*output).producer;
}

}  // namespace

std::string NodeLabel(std::string_view domain, std::string_view op_type, std::string_view name, std::string_view output) {
  const std::string type = Shortened(fmt::format("{}{}{}", domain, domain.empty() ? "" : ".", op_type));
  return name.empty() ? fmt::format("{} -> '{}'", type, Shortened(output)) : fmt::format("{} '{}'", type, Shortened(name));
}

std::string ModelLabel(const Graph& graph, const Node& node) {
  const GraphViewer viewer(graph);
  const bool compiled = node.domain == kFusedDomain;
  const NodeIndex index = IsPrivateDomain(node.domain) || node.domain == kChannelsLastDomain ? InGraph(graph, node) : kNone;
  if (index == kNone) return node.Label(&viewer);
  const int32_t origin = graph.provenance() == nullptr ? kNone : graph.origin(index).index;
  if (origin == kNone) return graph.node(index).Label(&viewer);
  const Provenance::Origin& own = graph.provenance()->origins()[static_cast<size_t>(origin)];
  const std::string label = NodeLabel(own.domain, own.op_type, own.name, own.output);
  return compiled ? "the nodes compiled with " + label : label;
}

}  // namespace tessera
