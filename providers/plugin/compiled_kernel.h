#pragma once

// Parts of graphs that a library compiles.

#include <memory>
#include <span>
#include <vector>

#include "bindings/c/views/graph_view.h"
#include "plugin/ep.h"
#include "plugin/memory.h"
#include "tessera/provider/execution_provider.h"
#include "tessera/provider/kernel.h"

namespace tessera::plugin {

struct SubgraphToCompile {
  const Node& fused_node;
  GraphViewer graph;
  bool drops_constants;
};

/// One kernel for each, and, unless `context_nodes` is null, a context node (without an op_type: the library gave none).
/// Throws Error with what the library says, and where what it gives cannot be used; nothing of it is left then.
std::vector<std::unique_ptr<Kernel>> CompileGraphs(const std::shared_ptr<Ep>& ep,
                                                   std::span<const SubgraphToCompile> subgraphs,
                                                   const std::shared_ptr<const c_abi::ModelFacts>& facts,
                                                   const DeviceMemory& memory, std::vector<ContextNode>* context_nodes);

}  // namespace tessera::plugin
