#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "optimizer/analysis/edit.h"

namespace tessera {

/// How a node computes the same on values whose dimensions stand in another order.
struct PermutedNode {
  Node node;                 // with the attributes for that order
  std::vector<size_t> data;  // the inputs in that order; constants among them may have fewer dimensions
  std::vector<std::pair<size_t, std::vector<int64_t>>> integers;  // inputs that become these
  bool outputs_follow = true;                                     // in that order too; else they are the same as before
};

/// For a node that reads results of a Transpose by `perm`, or could: the node that would read that Transpose's input
/// instead. Nothing where there is none.
std::optional<PermutedNode> Permuted(const Graph& graph, const Node& node, const Permutation& perm);

Permutation Inverse(const Permutation& perm);

/// The dimensions of what a Transpose by `perm` gives, put back in the order of its input.
template <class Dimensions>
Dimensions InOrderOfInput(const Dimensions& dims, const Permutation& perm) {
  Dimensions result = dims;
  for (size_t i = 0; i < perm.size(); ++i) result[static_cast<size_t>(perm[i])] = dims[i];
  return result;
}

}  // namespace tessera
