#pragma once

// The graph with each unit's nodes drawn together, to keep it free of cycles.

#include <span>
#include <vector>

#include "graph/graph.h"

namespace tessera {

class UnitGraph {
 public:
  explicit UnitGraph(const Graph& graph);

  /// Cuts `nodes` into parts that can each be drawn together without making a cycle; parts are in execution order.
  std::vector<std::vector<NodeIndex>> Split(std::span<const NodeIndex> nodes) const;

  /// Whether all of these sets can be drawn together, each by itself: none has to be cut then, and the whole graph is
  /// looked at once rather than for each. False where they share nodes.
  bool CanDrawAll(std::span<const std::vector<NodeIndex>> sets) const;
  /// In the graph's order.
  std::vector<NodeIndex> Sorted(std::span<const NodeIndex> nodes) const;

  /// Draws the nodes of one part together.
  void Merge(std::span<const NodeIndex> nodes);
  /// Takes the nodes of one unit apart again.
  void Separate(std::span<const NodeIndex> nodes);

  /// One node of each unit, in execution order: ready units by the place of their first node in the graph's order.
  std::vector<NodeIndex> Order() const;

  /// Nodes that compute what `node` reads, captured values included.
  std::span<const NodeIndex> predecessors(NodeIndex node) const noexcept {
    return predecessors_[static_cast<size_t>(node)];
  }
  std::span<const NodeIndex> successors(NodeIndex node) const noexcept { return successors_[static_cast<size_t>(node)]; }

 private:
  const Graph& graph_;
  std::vector<std::vector<NodeIndex>> predecessors_;
  std::vector<std::vector<NodeIndex>> successors_;
  std::vector<NodeIndex> unit_;                  // representative, by node
  std::vector<std::vector<NodeIndex>> members_;  // by representative
  std::vector<int32_t> position_;                // in the graph's order, by node
};

}  // namespace tessera
