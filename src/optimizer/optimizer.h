#pragma once

#include "base/log.h"
#include "graph/graph.h"
#include "optimizer/rewrites.h"
#include "runtime/resources.h"
#include "tessera/session.h"

namespace tessera {

/// Rewrites a resolved graph and those nested in it with the passes of `level` until none finds anything more. Constants are
/// folded with the kernels of the last provider (CPU).
OptimizationReport OptimizeGraph(Graph& graph, const SessionResources& resources, OptimizationLevel level, const Logger& log);

/// The same with these passes only.
OptimizationReport RunRewrites(Graph& graph, const SessionResources& resources, std::span<const RewriteEntry> rewrites,
                               const Logger& log);

}  // namespace tessera
