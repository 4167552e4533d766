#pragma once

// What providers that compile whole subgraphs find when they time the implementations that a library has for a node.

#include <map>
#include <string>

#include "tessera/provider/graph.h"

namespace tessera {

/// Implementations by node of one graph, as NodeHints::algorithm may name them.
class ImplementationNotes {
 public:
  void Add(const Graph& graph, NodeIndex node, std::string algorithm) {
    if (&graph == graph_) chosen_[node] = std::move(algorithm);
  }
  const std::map<NodeIndex, std::string>& chosen() const noexcept { return chosen_; }

  /// Those of the session that this thread is making a plan for; null where nothing is to be timed.
  static ImplementationNotes* Current() noexcept;
  class Scope {
   public:
    Scope(ImplementationNotes* notes, const Graph& graph) noexcept;
    Scope(const Scope&) = delete;
    ~Scope();

   private:
    ImplementationNotes* previous_;
  };

 private:
  const Graph* graph_ = nullptr;
  std::map<NodeIndex, std::string> chosen_;
};

}  // namespace tessera
