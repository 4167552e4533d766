#pragma once

// Nodes that a kernel of a library's registry runs.

#include <memory>

#include "bindings/c/ep/kernel_registry.h"
#include "plugin/ep.h"
#include "plugin/memory.h"
#include "plugin/single_node.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::plugin {

/// What a kernel of the library's is shown of the one node of `graph`, whose constants lie where `def` says.
std::unique_ptr<const KeptInfo> KeepInfo(const Ep& ep, const OrtKernelDef& def, const ExecutionProvider& provider,
                                         const GraphViewer& graph, const SessionServices& services,
                                         const DeviceMemory& memory);

/// Null: the library has none.
const OrtKernelRegistry* RegistryOf(const Ep& ep);

/// The first kernel of the registry for a node's operator, version and element types; null: it has none.
const OrtKernelRegistry::Kernel* FindKernel(const OrtKernelRegistry& registry, const GraphViewer& graph, const Node& node);

/// The kernel for the one node of `graph`. Throws Error where the registry has none for it, and with what the library says.
std::unique_ptr<Kernel> MakeRegistryKernel(const std::shared_ptr<Ep>& ep, const ExecutionProvider& provider,
                                           const GraphViewer& graph, const SessionServices& services,
                                           const DeviceMemory& memory);

}  // namespace tessera::plugin
