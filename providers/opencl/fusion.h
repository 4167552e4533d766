#pragma once

// Elementwise operators inside the products and convolutions that they follow.

#include <memory>
#include <vector>

#include "kernel.h"
#include "tessera/execution_provider.h"

namespace tessera::opencl {

/// Draws claims of single nodes together where a kernel applies the ones that follow it to its results.
std::vector<ComputeCapability> FuseEpilogues(const GraphViewer& graph, std::vector<ComputeCapability> claims);

/// What CompileEpilogue needs of the provider.
struct FusionServices {
  const ExecutionProvider& provider;
  ThreadPool& threads;
  Allocator& constants;
  cl_command_queue queue;
};
/// The kernel of a subgraph that FuseEpilogues made.
std::unique_ptr<Kernel> CompileEpilogue(const GraphViewer& subgraph, const FusionServices& services);

}  // namespace tessera::opencl
