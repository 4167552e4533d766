// The way of a session from the optimized graph to the plan: providers are assigned, rewrite what they got, and make its
// kernels.

#include <algorithm>

#include "graph/check_types.h"
#include "lowering/lower_graph.h"
#include "runtime/memory/packed_store.h"
#include "runtime/plan/plan_builder.h"
#include "runtime/profile/implementation_notes.h"
#include "session/model_nodes.h"
#include "session/session_builder.h"
#include "session/tuning.h"
#include "tessera/provider/execution_provider.h"
#include "tessera/providers/names.h"

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

PartitionOptions SessionBuilder::OptionsOfPartition(FailedKernels& failed) const {
  const bool cpu_named =
      std::any_of(options_.providers.begin(), options_.providers.end(),
                  [](const ProviderRequest& request) { return FindProvider(request.name) == FindProvider(kCpuProvider); });
  return {.disable_cpu_fallback = config_.disable_cpu_fallback && !cpu_named,
          .min_island_nodes = config_.min_island_nodes,
          .precision = config_.precision,
          .error_on_failure = options_.error_on_failure,
          .failed = &failed,
          .compile = {.packed = resources_.packed, .notes = trial_ == nullptr ? nullptr : trial_->notes()},
          .early = &made_.early};
}

/// Gives the nodes to providers, and lets these rewrite theirs. Where a kernel failed, what it was to run is given to the
/// next provider, and what was rewritten before stays. The CPU provider is always the last and has nobody to fail to;
/// others that rewrite (src/lowering) make only operators that it has kernels for, too. Results are right, because
/// every node means what its schema says, and conversions stand in the graph wherever the rewritten meets the plain. What
/// the CPU provider gets now it rewrites beside what it has: use_nchw8c goes on from where an earlier layout ends. At most
/// it is slower than if all had been rewritten at once, by a conversion back into a layout, or by an activation that its
/// neighbour could have taken over.
void SessionBuilder::AssignAndLower(FailedKernels& failed) {
  assignment_.reset();
  if (resources_.providers.size() > 1) {
    const ProfileScope scope(session_.profiler.get(), "assign providers", "Load");
    assignment_ = AssignProviders(*model_.graph, resources_, OptionsOfPartition(failed), log_);
  }
  if (options_.optimization_level == OptimizationLevel::kNone) return;
  const bool typed = TypesAreKnown(*model_.graph);
  const ProfileScope scope(session_.profiler.get(), "lower", "Load");
  LowerGraph(*model_.graph, resources_, OptionsOfOptimizer(), made_.optimization);
  if (!typed) CheckTypes(*model_.graph);
  log_(LogLevel::kVerbose, "{}", made_.optimization.ToText());
}

void SessionBuilder::MakePlan() {
  if (trial_ != nullptr) trial_->NoteImplementationsOf(*model_.graph);
  FailedKernels failed;
  std::unique_ptr<Plan> plan;
  while ((plan = TryPlan(failed)) == nullptr) {
    failed.SettleConstants(false);
    for (const std::string& line : failed.TakeLines()) log_(LogLevel::kWarning, "{}", line);
    resources_.ForgetDeviceConstants();
    AssignAndLower(failed);
  }
  failed.SettleConstants(true);
  ReportModelNodes(*model_.graph, assignment_ ? &*assignment_ : nullptr, made_.placement);
  AddRefusals(made_.early, made_.placement);
  if (session_.profiler != nullptr) session_.profiler->NameModelNodes(NamesForProfile(made_.placement));
  assignment_.reset();
  if (trial_ != nullptr) trial_->Watch(*plan);
  made_.executor = std::make_unique<Executor>(std::move(plan), resources_, false);
}

std::unique_ptr<Plan> SessionBuilder::TryPlan(FailedKernels& failed) {
  made_.placement = started_;
  GraphPartition partition;
  {
    const ProfileScope scope(session_.profiler.get(), "partition", "Load");
    const size_t failures = failed.size();
    partition = PartitionGraph(*model_.graph, resources_, OptionsOfPartition(failed), made_.placement, log_,
                               assignment_ ? &*assignment_ : nullptr);
    if (failed.size() > failures) return nullptr;
  }
  ChooseThreads();
  const ProfileScope scope(session_.profiler.get(), "make kernels and plan", "Load");
  if (trial_ != nullptr) trial_->NoteUnits(*model_.graph, partition);
  // Constants that their kernels need no more then stay in memory until all kernels are made: the last provider's have no
  // other to go to.
  const bool may_fail = !options_.error_on_failure && HasKernelsBeforeLast(partition, resources_);
  return BuildPlan(*model_.graph, std::move(partition), resources_, made_.placement, may_fail ? &failed : nullptr);
}

/// Where no node went to a provider that brings libgomp's team, the session's own workers serve better: their loops wait
/// for no thread that the system runs late.
void SessionBuilder::ChooseThreads() {
  const auto brings_openmp = [](std::string_view provider) {
    const ProviderFactory* factory = FindProvider(provider);
    return factory != nullptr && factory->uses_openmp;
  };
  const bool used = std::any_of(made_.placement.nodes.begin(), made_.placement.nodes.end(),
                                [&](const PlacementReport::NodeEntry& node) { return brings_openmp(node.provider); });
  if (used == made_.openmp_threads) return;
  made_.openmp_threads = used;
  MakeThreads();
  for (ProviderEntry& entry : resources_.providers) Attach(*entry.provider);
}

}  // namespace tessera
