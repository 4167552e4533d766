// The way of a session from the optimized graph to the plan: providers are assigned, rewrite what they got, and make its
// kernels.

#include <algorithm>

#include "graph/infer_types.h"
#include "runtime/memory/packed_store.h"
#include "runtime/plan/plan_builder.h"
#include "runtime/profile/implementation_notes.h"
#include "session/model_nodes.h"
#include "session/session_state.h"
#include "session/tuning.h"
#include "tessera/provider/execution_provider.h"

namespace tessera {
namespace {

/// Whether providers before the last one have kernels to be made, or constants to be brought to their memory, nested graphs
/// included: where that fails, the next one takes over.
bool HasKernelsBeforeLast(const GraphPartition& partition, const SessionResources& resources) {
  const auto before_last = [&](const Unit& unit) {
    return static_cast<size_t>(unit.provider) + 1 < resources.providers.size() &&
           (unit.kernel == nullptr || resources.memories.size() > 1);
  };
  return std::ranges::any_of(partition.units, before_last) ||
         std::ranges::any_of(partition.nested,
                             [&](const auto& nested) { return HasKernelsBeforeLast(nested.second, resources); });
}

}  // namespace

PartitionOptions Session::State::OptionsOfPartition(FailedKernels& failed) const {
  const bool cpu_named = std::any_of(
      options.providers.begin(), options.providers.end(),
      [](const ProviderRequest& request) { return FindProvider(request.name) == FindProvider("CPUExecutionProvider"); });
  return {.disable_cpu_fallback = config.disable_cpu_fallback && !cpu_named,
          .min_island_nodes = config.min_island_nodes,
          .precision = config.precision,
          .error_on_failure = options.error_on_failure,
          .failed = &failed,
          .early = &early};
}

/// Gives the nodes to providers, and lets these rewrite theirs. Where a kernel failed, what it was to run is given to the
/// next provider; what was rewritten before stays.
void Session::State::AssignAndLower(FailedKernels& failed) {
  assignment.reset();
  if (resources.providers.size() > 1) {
    const ProfileScope scope(profiler.get(), "assign providers", "Load");
    assignment = AssignProviders(*model.graph, resources, OptionsOfPartition(failed), log);
  }
  if (options.optimization_level == OptimizationLevel::kNone) return;
  const bool typed = TypesAreKnown(*model.graph);
  const ProfileScope scope(profiler.get(), "lower", "Load");
  LowerGraph(*model.graph, resources, OptionsOfOptimizer(), optimization);
  if (!typed) CheckTypes(*model.graph);
  log(LogLevel::kVerbose, "{}", optimization.ToText());
}

void Session::State::MakePlan() {
  const PackedStore::Scope scope(resources.packed);
  const ImplementationNotes::Scope notes(trial == nullptr ? nullptr : trial->notes(), *model.graph);
  const PlacementReport before = placement;
  FailedKernels failed;
  std::unique_ptr<Plan> plan;
  while ((plan = TryPlan(failed)) == nullptr) {
    failed.SettleConstants(false);
    for (const std::string& line : failed.TakeLines()) log(LogLevel::kWarning, "{}", line);
    resources.ForgetDeviceConstants();
    placement = before;
    AssignAndLower(failed);
  }
  failed.SettleConstants(true);
  ReportModelNodes(*model.graph, assignment ? &*assignment : nullptr, placement);
  if (profiler != nullptr) profiler->NameModelNodes(NamesForProfile(placement));
  assignment.reset();
  if (trial != nullptr) trial->Watch(*plan);
  executor = std::make_unique<Executor>(std::move(plan), resources, false);
}

std::unique_ptr<Plan> Session::State::TryPlan(FailedKernels& failed) {
  GraphPartition partition;
  {
    const ProfileScope scope(profiler.get(), "partition", "Load");
    const size_t failures = failed.size();
    partition = PartitionGraph(*model.graph, resources, OptionsOfPartition(failed), placement, log,
                               assignment ? &*assignment : nullptr);
    if (failed.size() > failures) return nullptr;
  }
  ChooseThreads();
  const ProfileScope scope(profiler.get(), "make kernels and plan", "Load");
  if (trial != nullptr) trial->NoteUnits(*model.graph, partition);
  // Constants that their kernels need no more then stay in memory until all kernels are made: the last provider's have no
  // other to go to.
  const bool may_fail = !options.error_on_failure && HasKernelsBeforeLast(partition, resources);
  return BuildPlan(*model.graph, std::move(partition), resources, placement, may_fail ? &failed : nullptr);
}

/// Where no node went to a provider that brings libgomp's team, the session's own workers serve better: their loops wait
/// for no thread that the system runs late.
void Session::State::ChooseThreads() {
  const auto brings_openmp = [](std::string_view provider) {
    const ProviderFactory* factory = FindProvider(provider);
    return factory != nullptr && factory->uses_openmp;
  };
  const bool used = std::any_of(placement.nodes.begin(), placement.nodes.end(),
                                [&](const PlacementReport::NodeEntry& node) { return brings_openmp(node.provider); });
  if (used == openmp_threads) return;
  openmp_threads = used;
  MakeThreads();
  for (ProviderEntry& entry : resources.providers) Attach(*entry.provider);
}

}  // namespace tessera
