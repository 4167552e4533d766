#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "runtime/resources.h"

namespace tessera {

/// Limits of the computation of one node at load.
struct EvaluationLimits {
  int64_t output_bytes = 0;                                           // of each output, characters of strings included
  std::chrono::milliseconds time = std::chrono::milliseconds::max();  // then the node is left alone
};

/// The outputs of a node whose inputs are all constants, computed with the kernels of the last provider (CPU); undefined
/// tensors for omitted ones. Nothing where there is no kernel, where an output is no tensor, where a limit is reached, and
/// where the kernel fails: its error then comes when the model runs. Throws Error where the load is stopped.
std::optional<std::vector<Tensor>> Evaluate(const Graph& graph, const Node& node, const SessionResources& resources,
                                            const EvaluationLimits& limits);

}  // namespace tessera
