#pragma once

// What loading makes of a model and runs read. Nothing in it changes once it is made.

#include <memory>
#include <string_view>
#include <vector>

#include "base/memory_budget.h"
#include "base/seeded_hash.h"
#include "model/model.h"
#include "partition/early_claims.h"
#include "runtime/executor.h"
#include "runtime/profile/profiler.h"
#include "runtime/resources.h"
#include "tessera/session.h"

namespace tessera {

/// The model itself, the graph as providers have rewritten it; with the providers, memories and threads, the plan of a run
/// by them, and the reports of how it came about.
struct LoadedModel : Model {
  std::shared_ptr<MemoryBudget> run_memory;  // before what is counted against it
  SessionResources resources;
  bool openmp_threads = false;  // the pool is libgomp's team
  EarlyParts early;             // what opaque nodes of the graph stand for
  /// Has the plan, and runs it: frames of runs are the one thing that comes and goes, behind a lock. Destroyed first.
  std::unique_ptr<Executor> executor;

  std::vector<ExecutionProvider*> watch_runs;  // providers that want to know of each
  bool one_run_at_a_time = false;              // a provider says so
  ExecutionProvider* recorder = nullptr;       // the provider that records whole runs, if there is one

  ModelSizes sizes;
  OptimizationReport optimization;
  ContextReport context;
  PlacementReport placement;

  std::vector<NamedType> inputs, outputs, overridable;
  std::vector<size_t> required;      // positions of `inputs` among the graph's inputs
  std::vector<size_t> all_outputs;   // 0, 1, ...
  StringMap<size_t> input_position;  // among the graph's inputs
  StringMap<size_t> output_position;

  size_t InputPosition(std::string_view name) const;  // throws Error listing the names there are
  size_t OutputPosition(std::string_view name) const;
  const GraphValue& graph_input(size_t position) const noexcept { return graph->value(graph->inputs()[position]); }
  /// Throws Error where a value's kind, type or shape is not what the input at a position takes.
  void CheckInput(size_t position, const Value& value) const;
  /// The only memory that reads input `position`, the host when there are several.
  int16_t MemoryOfInput(size_t position) const noexcept;
  /// The providers' parts in a profile.
  void StartProviders(Profiler& profile) const;
  /// Gives idle memory back.
  void Shrink() const noexcept;
};

}  // namespace tessera
