#pragma once

#include <unordered_map>

#include "graph/graph.h"

namespace tessera {

/// Sets of values that are gained or lost together (union-find). Each value begins as a region of its own.
class Regions {
 public:
  /// The value that stands for the region of `index`.
  ValueIndex Of(ValueIndex index) {
    // Paths are halved on the way. They may be as long as the graph, too long to be followed by recursion.
    for (;;) {
      ValueIndex& parent = parents_.try_emplace(index, index).first->second;
      if (parent == index) return index;
      index = parent = parents_.at(parent);
    }
  }

  /// One region of two; `into` stands for it.
  void Join(ValueIndex index, ValueIndex into) { parents_[Of(index)] = Of(into); }

 private:
  std::unordered_map<ValueIndex, ValueIndex> parents_;
};

}  // namespace tessera
