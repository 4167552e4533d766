#include "partition/unit_graph.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "base/check.h"

namespace tessera {

UnitGraph::UnitGraph(const Graph& graph)
    : graph_(graph),
      predecessors_(graph.num_node_slots()),
      successors_(graph.num_node_slots()),
      unit_(graph.num_node_slots(), kNone),
      members_(graph.num_node_slots()),
      position_(graph.num_node_slots(), 0) {
  int32_t position = 0;
  for (const NodeIndex index : graph.TopologicalOrder()) {
    position_[static_cast<size_t>(index)] = position++;
    unit_[static_cast<size_t>(index)] = index;
    members_[static_cast<size_t>(index)] = {index};
    auto& predecessors = predecessors_[static_cast<size_t>(index)];
    const Node& node = graph.node(index);
    for (const auto* list : {&node.inputs, &node.implicit_inputs}) {
      for (const ValueIndex value : *list) {
        if (value != kNone && graph.value(value).producer != kNone) predecessors.push_back(graph.value(value).producer);
      }
    }
    std::sort(predecessors.begin(), predecessors.end());
    predecessors.erase(std::unique(predecessors.begin(), predecessors.end()), predecessors.end());
    for (const NodeIndex other : predecessors) successors_[static_cast<size_t>(other)].push_back(index);
  }
}

std::vector<NodeIndex> UnitGraph::Order() const {
  std::vector<int32_t> waiting(unit_.size(), 0);  // edges from other units that are not done yet
  using Ready = std::pair<int32_t, NodeIndex>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto push = [&](NodeIndex unit) {
    ready.emplace(position_[static_cast<size_t>(members_[static_cast<size_t>(unit)].front())], unit);
  };
  size_t units = 0;
  for (const NodeIndex index : graph_.TopologicalOrder()) {
    const NodeIndex unit = unit_[static_cast<size_t>(index)];
    for (const NodeIndex other : predecessors(index)) {
      if (unit_[static_cast<size_t>(other)] != unit) ++waiting[static_cast<size_t>(unit)];
    }
    if (unit == index) ++units;
  }
  for (const NodeIndex index : graph_.TopologicalOrder()) {
    if (unit_[static_cast<size_t>(index)] == index && waiting[static_cast<size_t>(index)] == 0) push(index);
  }
  std::vector<NodeIndex> order;
  while (!ready.empty()) {
    const NodeIndex unit = ready.top().second;
    ready.pop();
    order.push_back(unit);
    for (const NodeIndex member : members_[static_cast<size_t>(unit)]) {
      for (const NodeIndex next : successors(member)) {
        const NodeIndex other = unit_[static_cast<size_t>(next)];
        if (other != unit && --waiting[static_cast<size_t>(other)] == 0) push(other);
      }
    }
  }
  if (order.size() != units) Fail(ErrorCode::kInvalidGraph, "fused subgraphs depend on each other in a cycle");
  return order;
}

std::vector<std::vector<NodeIndex>> UnitGraph::Split(std::span<const NodeIndex> nodes) const {
  std::vector<bool> claimed(unit_.size());
  for (const NodeIndex node : nodes) claimed[static_cast<size_t>(node)] = true;
  // A path that leaves the claim and comes back would close a cycle: what it comes back to belongs to a later part.
  std::vector<int32_t> part(unit_.size(), 0);  // by representative
  std::vector<std::vector<NodeIndex>> parts;
  for (const NodeIndex unit : Order()) {
    const bool inside = claimed[static_cast<size_t>(unit)];
    int32_t number = 0;
    for (const NodeIndex member : members_[static_cast<size_t>(unit)]) {
      for (const NodeIndex previous : predecessors(member)) {
        const NodeIndex other = unit_[static_cast<size_t>(previous)];
        if (other == unit) continue;
        const bool leaves = claimed[static_cast<size_t>(other)] && !inside;
        number = std::max(number, part[static_cast<size_t>(other)] + (leaves ? 1 : 0));
      }
    }
    part[static_cast<size_t>(unit)] = number;
    if (!inside) continue;
    if (parts.size() <= static_cast<size_t>(number)) parts.resize(static_cast<size_t>(number) + 1);
    parts[static_cast<size_t>(number)].push_back(unit);
  }
  std::erase_if(parts, [](const auto& members) { return members.empty(); });
  for (auto& members : parts) {
    std::sort(members.begin(), members.end(),
              [&](NodeIndex a, NodeIndex b) { return position_[static_cast<size_t>(a)] < position_[static_cast<size_t>(b)]; });
  }
  return parts;
}

void UnitGraph::Merge(std::span<const NodeIndex> nodes) {
  const NodeIndex unit = nodes.front();
  for (const NodeIndex node : nodes) {
    unit_[static_cast<size_t>(node)] = unit;
    members_[static_cast<size_t>(node)].clear();
  }
  members_[static_cast<size_t>(unit)].assign(nodes.begin(), nodes.end());
}

}  // namespace tessera
