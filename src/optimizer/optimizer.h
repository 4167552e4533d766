#pragma once

#include "base/log.h"
#include "graph/graph.h"
#include "optimizer/rewrites.h"
#include "runtime/resources.h"
#include "tessera/session.h"

namespace tessera {

struct OptimizerOptions {
  OptimizationLevel level = OptimizationLevel::kAll;
  bool writable = false;  // the graph is to be written as a model
  Precision precision = Precision::kFloat32;
  bool int8_beside_nbits = false;                  // as RewriteContext has it
  bool round_halves = false;                       // as RewriteContext has it
  const ExecutionProvider* lowered_for = nullptr;  // as RewriteContext has it
  Logger log;
};

/// Rewrites a resolved graph and those nested in it, of plain ONNX, into one way to write it, which is plain ONNX too:
/// constants and constant branches folded, identities, dead, and equal nodes gone. The level `basic` adds only its passes
/// that are `last`: dynamic_quantize_matmul and, in the CPU provider's lowering, fold_matrices.
OptimizationReport CanonicalizeGraph(Graph& graph, const SessionResources& resources, const OptimizerOptions& options);

/// Rewrites a canonical graph and those nested in it with the portable passes of the level until none finds anything more.
/// Constants are folded with the kernels of the last provider (CPU).
OptimizationReport OptimizeGraph(Graph& graph, const SessionResources& resources, const OptimizerOptions& options);

/// Lets each provider rewrite the nodes that it was assigned into what it runs best; adds to `report` what was done.
void LowerGraph(Graph& graph, const SessionResources& resources, const OptimizerOptions& options,
                OptimizationReport& report);

/// Adds what was done later to what was done before.
void Append(OptimizationReport& report, const OptimizationReport& later);

/// The same with these passes only.
OptimizationReport RunRewrites(Graph& graph, const SessionResources& resources, std::span<const RewriteEntry> rewrites,
                               const OptimizerOptions& options = {});

}  // namespace tessera
