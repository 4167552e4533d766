#pragma once

// Elementwise operators inside the matmuls and convolutions that they follow, and chains of others as one kernel.

#include <memory>
#include <vector>

#include "opencl/device/constants.h"
#include "opencl/device/kernel.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::opencl {

/// Draws claims of single nodes together where a kernel applies the ones that follow it to its results, or one made of them
/// computes all.
std::vector<ComputeCapability> FuseElementwise(const GraphViewer& graph, std::vector<ComputeCapability> claims);

/// What CompileEpilogue needs of the provider.
struct FusionServices {
  const ExecutionProvider& provider;
  ThreadPool& threads;
  DeviceConstants& constants;
  Allocator& memory;  // of the host, for what kernels keep
};
/// The kernel of a subgraph that FuseElementwise made.
std::unique_ptr<Kernel> CompileElementwise(const GraphViewer& subgraph, const FusionServices& services);

}  // namespace tessera::opencl
