#pragma once

// Nodes that go from one graph to another, with the values that they read and compute.

#include <unordered_map>

#include "graph/graph.h"

namespace tessera {

class NodeMove {
 public:
  /// `place`: where the nodes run in `to`, as of Graph::AddNode. Both graphs must live longer.
  NodeMove(Graph& from, Graph& to, NodeIndex place = kNone) : from_(from), to_(to), place_(place) {}

  /// Says which value of `to` stands for one of `from`. False where one does already.
  bool Stand(ValueIndex from, ValueIndex to) { return moved_.emplace(from, to).second; }

  /// What stands for a value in `to`, a new one of the same name and type where none does; constants are shared. What
  /// `from` captures of `to` is that value there.
  ValueIndex Moved(ValueIndex index);

  /// Adds the node to `to`; the one in `from` remains, but for its nested graphs, for the caller to remove.
  NodeIndex Move(NodeIndex index);

 private:
  Graph& from_;
  Graph& to_;
  const NodeIndex place_;
  std::unordered_map<ValueIndex, ValueIndex> moved_;
};

}  // namespace tessera
