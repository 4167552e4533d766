#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "runtime/resources.h"

namespace tessera {

/// The outputs of a node whose inputs are all constants, computed with the kernels of the last provider (CPU); undefined
/// tensors for omitted ones. Nothing where there is no kernel, where an output is no tensor or larger than `most_bytes`, and
/// where the kernel fails: its error then comes when the model runs.
std::optional<std::vector<Tensor>> Evaluate(const Graph& graph, const Node& node, const SessionResources& resources,
                                            int64_t most_bytes);

}  // namespace tessera
