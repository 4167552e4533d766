#include "partition/unit_graph.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "base/check.h"
#include "base/load_limits.h"

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
    graph.limits().Check();
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
    graph_.limits().Check();
    const NodeIndex unit = unit_[static_cast<size_t>(index)];
    for (const NodeIndex other : predecessors(index)) {
      if (unit_[static_cast<size_t>(other)] != unit) ++waiting[static_cast<size_t>(unit)];
    }
    if (unit == index) ++units;
  }
  for (const NodeIndex index : graph_.TopologicalOrder()) {
    graph_.limits().Check();
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
    std::sort(members.begin(), members.end(), [&](NodeIndex a, NodeIndex b) {
      return position_[static_cast<size_t>(a)] < position_[static_cast<size_t>(b)];
    });
  }
  return parts;
}

bool UnitGraph::CanDrawAll(std::span<const std::vector<NodeIndex>> sets) const {
  // The sets are numbered behind the nodes; what is in none stays with its unit.
  std::vector<size_t> drawn(unit_.size());
  for (size_t i = 0; i < drawn.size(); ++i) drawn[i] = static_cast<size_t>(std::max<NodeIndex>(unit_[i], 0));
  for (size_t i = 0; i < sets.size(); ++i) {
    for (const NodeIndex node : sets[i]) {
      size_t& of_node = drawn[static_cast<size_t>(node)];
      if (of_node >= unit_.size() || members_[static_cast<size_t>(node)].size() != 1) return false;
      of_node = unit_.size() + i;
    }
  }
  std::vector<std::vector<size_t>> next(unit_.size() + sets.size());
  std::vector<int32_t> waiting(next.size(), 0);
  for (const NodeIndex index : graph_.TopologicalOrder()) {
    const size_t to = drawn[static_cast<size_t>(index)];
    for (const NodeIndex previous : predecessors(index)) {
      const size_t from = drawn[static_cast<size_t>(previous)];
      if (from == to) continue;
      next[from].push_back(to);
      ++waiting[to];
    }
  }
  std::vector<size_t> ready;
  for (size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] == 0) ready.push_back(i);
  }
  size_t done = 0;
  for (; done < ready.size(); ++done) {
    for (const size_t other : next[ready[done]]) {
      if (--waiting[other] == 0) ready.push_back(other);
    }
  }
  return done == waiting.size();  // what waits for itself is never done
}

std::vector<NodeIndex> UnitGraph::Sorted(std::span<const NodeIndex> nodes) const {
  std::vector<NodeIndex> sorted(nodes.begin(), nodes.end());
  std::sort(sorted.begin(), sorted.end(), [&](NodeIndex a, NodeIndex b) {
    return position_[static_cast<size_t>(a)] < position_[static_cast<size_t>(b)];
  });
  return sorted;
}

void UnitGraph::Merge(std::span<const NodeIndex> nodes) {
  const NodeIndex unit = nodes.front();
  for (const NodeIndex node : nodes) {
    unit_[static_cast<size_t>(node)] = unit;
    members_[static_cast<size_t>(node)].clear();
  }
  members_[static_cast<size_t>(unit)].assign(nodes.begin(), nodes.end());
}

void UnitGraph::Separate(std::span<const NodeIndex> nodes) {
  for (const NodeIndex node : nodes) {
    unit_[static_cast<size_t>(node)] = node;
    members_[static_cast<size_t>(node)] = {node};
  }
}

}  // namespace tessera
