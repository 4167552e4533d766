#pragma once

#include <vector>

#include "opencl/device/device.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::opencl {

/// The nodes that a device runs; every other one is refused with its reason. Shape arithmetic stays on the host, where its
/// inputs are.
std::vector<ComputeCapability> ClaimNodes(const GraphViewer& graph, const KernelLookup& kernels, const Capabilities& device,
                                          RefusalSink& refusals);

}  // namespace tessera::opencl
