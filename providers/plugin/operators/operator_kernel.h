#pragma once

// Nodes that an operator of a client's computes.

#include <memory>
#include <optional>

#include "plugin/operators/operator_set.h"
#include "plugin/single_node.h"

namespace tessera::plugin {

/// Where the operator's kernels want a node's operands, beside a provider with a memory of its own.
OrtKernelDef PlacesFor(const ClientOperator& definition, const Node& node);

/// The kernel for the node of `info`. `places`, `transfer`: nothing where there is the host's memory alone. `keep`: what
/// definition and info need. Throws Error with what the client says.
std::unique_ptr<Kernel> MakeOperatorKernel(const ClientOperator& definition, std::unique_ptr<const KeptInfo> info,
                                           const std::optional<OrtKernelDef>& places,
                                           std::shared_ptr<DataTransfer> transfer, std::shared_ptr<const void> keep);

}  // namespace tessera::plugin
