#pragma once

#include <span>
#include <vector>

#include "base/log.h"
#include "graph/graph.h"
#include "optimizer/rewrites.h"
#include "runtime/resources.h"
#include "tessera/session.h"

namespace tessera {

/// Rewrites feed each other; more rounds than this are left to none of them.
inline constexpr size_t kMostRounds = 8;

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

/// Those of a table that the level has.
std::vector<RewriteEntry> RewritesOf(std::span<const RewriteEntry> table, OptimizationLevel level);

/// Adds what was done later to what was done before.
void Append(OptimizationReport& report, const OptimizationReport& later);

/// The same with these passes only.
OptimizationReport RunRewrites(Graph& graph, const SessionResources& resources, std::span<const RewriteEntry> rewrites,
                               const OptimizerOptions& options = {});

}  // namespace tessera
