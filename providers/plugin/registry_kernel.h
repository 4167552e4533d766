#pragma once

// Nodes that a kernel of a library's registry runs.

#include <memory>

#include "plugin/ep.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::plugin {

/// Null: the library has none.
const OrtKernelRegistry* RegistryOf(const Ep& ep);

/// The kernel for the one node of `graph`. Throws Error where the registry has none for it.
std::unique_ptr<Kernel> MakeRegistryKernel(const std::shared_ptr<Ep>& ep, const ExecutionProvider& provider,
                                           const GraphViewer& graph, const SessionServices& services);

}  // namespace tessera::plugin
