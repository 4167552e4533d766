#include "partition/placement.h"

#include <algorithm>

#include "graph/op_traits.h"
#include "partition/early_claims.h"

namespace tessera {
namespace {

std::vector<std::string> Names(const Graph& graph, std::span<const ValueIndex> values) {
  size_t bytes = 0;  // before there are as many copies of a long name as it has readers
  for (const ValueIndex value : values)
    bytes += sizeof(std::string) + (value == kNone ? 0 : graph.value(value).name.size());
  graph.Charge(bytes);
  std::vector<std::string> names;
  for (const ValueIndex value : values) names.push_back(value == kNone ? std::string() : graph.value(value).name);
  return names;
}

/// What its provider says of a node; "f32" where the optimizer, or for operators made of matmuls of real numbers the
/// session, allows less and the provider makes no use of it.
std::string PrecisionOf(const PartitionedGraph& of, const Node& node, const ExecutionProvider& runs_it) {
  if (const std::string_view stated = runs_it.PrecisionOf(of.viewer, node); !stated.empty()) return std::string(stated);
  constexpr TypeSet kReals = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16, ElementType::kDouble};
  const auto is_real = [&](ValueIndex output) {
    return output != kNone && kReals.contains(of.graph.value(output).type.element);
  };
  const bool by_session =
      of.precision != Precision::kFloat32 && Has(node, OpTrait::kMatMul) && std::ranges::any_of(node.outputs, is_real);
  return by_session || node.hints.precision != Precision::kFloat32 ? std::string(NameOf(Precision::kFloat32)) : "";
}

/// The one that it stands for; those that went into it are added once all graphs are partitioned.
std::vector<size_t> ModelNodesOf(NodeOrigin origin) {
  return origin.index == kNone ? std::vector<size_t>() : std::vector<size_t>{static_cast<size_t>(origin.index)};
}

/// What `graph`, which is that of an opaque node or the partitioned one, says of a node.
PlacementReport::NodeEntry EntryOf(const PartitionedGraph& of, const Graph& graph, NodeIndex index,
                                   const std::string& fused_into) {
  of.resources.CheckLoad();
  const Node& node = graph.node(index);
  graph.Charge(sizeof(PlacementReport::NodeEntry) + of.path.size() + node.name.size() + fused_into.size());
  const NodeOrigin origin = graph.origin(index);
  return {.graph = of.path,
          .name = node.name,
          .op_type = node.op_type,
          .domain = node.domain,
          .since_version = node.since_version,
          .provider = node.provider,
          .fused_into = fused_into,
          .inputs = Names(graph, node.inputs),
          .outputs = Names(graph, node.outputs),
          .model_nodes = ModelNodesOf(origin),
          .inserted = origin.inserted};
}

}  // namespace

void ReportUnits(const PartitionedGraph& of, std::span<const Unit> units, PlacementReport& report) {
  const auto add = [&](PlacementReport::NodeEntry entry) {
    for (PlacementReport::ProviderEntry& provider : report.providers)
      provider.nodes += provider.name == entry.provider ? 1 : 0;
    report.nodes.push_back(std::move(entry));
  };
  for (const Unit& unit : units) {
    if (unit.early != nullptr) {  // the nodes that the opaque one stands for
      const Graph& inner = *unit.early->graph;
      const std::string& provider = of.graph.node(unit.nodes.front()).provider;
      for (const NodeIndex index : inner.TopologicalOrder()) {
        PlacementReport::NodeEntry entry = EntryOf(of, inner, index, unit.early->name);
        entry.provider = provider;  // also of nodes that were inserted
        add(std::move(entry));
      }
      continue;
    }
    const ExecutionProvider& runs_it = *of.resources.providers[static_cast<size_t>(unit.provider)].provider;
    for (const NodeIndex index : unit.nodes) {
      PlacementReport::NodeEntry entry = EntryOf(of, of.graph, index, unit.fused != nullptr ? unit.fused->name : "");
      entry.refusals = of.refusals[static_cast<size_t>(index)];
      entry.precision = PrecisionOf(of, of.graph.node(index), runs_it);
      add(std::move(entry));
    }
  }
}

}  // namespace tessera
