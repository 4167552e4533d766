#pragma once

// What providers that compile whole subgraphs find when they time the implementations that a library has for a node.

#include <map>
#include <string>

#include "tessera/provider/graph.h"

namespace tessera {

/// Implementations by node of one graph, as NodeHints::algorithm may name them.
class ImplementationNotes {
 public:
  /// Nodes of other graphs, nested ones say, are not noted.
  void SetGraph(const Graph& graph) noexcept { graph_ = &graph; }
  void Add(const Graph& graph, NodeIndex node, std::string algorithm) {
    if (&graph == graph_) chosen_[node] = std::move(algorithm);
  }
  const std::map<NodeIndex, std::string>& chosen() const noexcept { return chosen_; }

 private:
  const Graph* graph_ = nullptr;
  std::map<NodeIndex, std::string> chosen_;
};

}  // namespace tessera
