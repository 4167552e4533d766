#include "partition/islands.h"

#include <vector>

#include "graph/op_traits.h"
#include "graph/private_names.h"

namespace tessera {
namespace {

/// What is worth a trip to a device by itself.
bool IsHeavy(const Node& node) { return Has(node, OpTrait::kMatMul) || node.domain == kFusedDomain; }

}  // namespace

void ForEachIsland(const Graph& graph, const UnitGraph& edges, FunctionRef<bool(NodeIndex)> mine,
                   FunctionRef<void(std::span<const NodeIndex>)> visit) {
  std::vector<bool> seen(graph.num_node_slots());
  for (const NodeIndex start : graph.TopologicalOrder()) {
    if (seen[static_cast<size_t>(start)] || !mine(start)) continue;
    std::vector<NodeIndex> island = {start};
    seen[static_cast<size_t>(start)] = true;
    size_t neighbours = 0;
    bool heavy = false;
    for (size_t i = 0; i < island.size(); ++i) {
      heavy |= IsHeavy(graph.node(island[i]));
      for (const auto touched : {edges.predecessors(island[i]), edges.successors(island[i])}) {
        for (const NodeIndex other : touched) {
          if (!mine(other)) {
            ++neighbours;
          } else if (!seen[static_cast<size_t>(other)]) {
            seen[static_cast<size_t>(other)] = true;
            island.push_back(other);
          }
        }
      }
    }
    if (!heavy && neighbours > 0) visit(island);
  }
}

}  // namespace tessera
