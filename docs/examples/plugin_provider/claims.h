#pragma once

// What the provider takes of a graph.

#include <vector>

#include "api.h"

namespace teaching {

struct Claims {
  std::vector<const OrtNode*> single;               // each run by a kernel of the registry
  std::vector<std::vector<const OrtNode*>> groups;  // each compiled to one node
};

Claims ClaimsOf(const Api& api, const OrtGraph& graph, OrtEpGraphSupportInfo& support, bool with_kernels,
                bool with_compiler);

/// Divides the nodes that are `wanted` into groups: each holds together, and no path leaves a group and comes back into it.
/// Nodes are numbered in an order in which they can run; `sources` has those whose results each node reads.
std::vector<std::vector<size_t>> Group(const std::vector<std::vector<size_t>>& sources, const std::vector<bool>& wanted);

}  // namespace teaching
