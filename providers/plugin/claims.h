#pragma once

// What a library claims of a graph.

#include <string>
#include <unordered_map>
#include <vector>

#include "bindings/c/views/graph_view.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/provider/graph.h"

namespace tessera::plugin {

struct Claim {
  std::vector<NodeIndex> nodes;
  bool single = false;           // run by a kernel of the library's registry; else compiled
  bool of_operator = false;      // run by a kernel of an operator that the library defines
  bool drops_constants = false;  // what is compiled is not given constants
  std::string broken;            // the rule that it broke; empty: none
};

}  // namespace tessera::plugin

/// Takes a library's claims while it looks at one graph.
struct OrtEpGraphSupportInfo {
  explicit OrtEpGraphSupportInfo(const OrtGraph& view);

  const OrtGraph& graph;
  std::unordered_map<const OrtNode*, tessera::NodeIndex> nodes;  // of that graph, which alone can be claimed
  const OrtKernelRegistry* registry = nullptr;
  std::vector<tessera::plugin::Claim> claims;
};
