#pragma once

#include "optimizer/optimizer.h"

namespace tessera {

/// Lets each provider rewrite the nodes that it was assigned into what it runs best; adds to `report` what was done.
void LowerGraph(Graph& graph, const SessionResources& resources, const OptimizerOptions& options,
                OptimizationReport& report);

}  // namespace tessera
