#include "optimizer/optimizer.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <iterator>

#include "graph/check_graph.h"
#include "graph/provenance.h"

namespace tessera {
namespace {

/// Folded constants may need this much memory, and twice what the model's own need.
constexpr int64_t kFoldingBudget = int64_t{64} << 20;
/// Operations of all folding: below a second on one core; what would be slower runs with the model, where it can be
/// cancelled.
constexpr double kFoldingOperations = double{int64_t{1} << 34};
/// Time of all folding, and more by the bytes of the model's constants: ten times its time on a slow machine.
constexpr auto kFoldingTime = std::chrono::seconds(10);
constexpr int64_t kFoldedBytesPerMillisecond = 100'000;

template <class Visit>
void ForEachGraph(const Graph& graph, const Visit& visit) {
  visit(graph);
  if (!graph.MayHoldGraphs()) return;
  for (const NodeIndex index : graph.TopologicalOrder()) {
    for (const auto& [name, nested] : graph.Subgraphs(index)) ForEachGraph(*nested, visit);
  }
}

size_t CountNodes(const Graph& graph) {
  size_t count = 0;
  ForEachGraph(graph, [&](const Graph& one) { count += one.TopologicalOrder().size(); });
  return count;
}

int64_t ConstantBytes(const Graph& graph) {
  int64_t bytes = 0;
  ForEachGraph(graph, [&](const Graph& one) {
    for (size_t i = 0; i < one.num_values(); ++i) {
      const auto& constant = one.value(static_cast<ValueIndex>(i)).constant;
      if (constant) bytes += static_cast<int64_t>(constant->byte_size());
    }
  });
  return bytes;
}

/// In builds that look for faults of Tessera's own (Debug, sanitizers): what a pass leaves is a graph.
void ExpectSound([[maybe_unused]] std::string_view pass, [[maybe_unused]] const Graph& graph) {
#ifdef TESSERA_CHECKS_GRAPHS
  const std::string fault = FindFault(graph);
  if (fault.empty()) return;
  std::cerr << "tessera: after " << pass << " the graph is not one: " << fault << '\n';
  std::abort();
#endif
}

size_t RunOn(Rewrite& rewrite, std::string_view pass, Graph& graph, RewriteContext& context) {
  context.resources.CheckLoad();
  size_t changes = rewrite.Run(graph, context);
  if (changes > 0) ExpectSound(pass, graph);
  if (graph.provenance() != nullptr) graph.provenance()->Settle(graph, pass);
  if (!graph.MayHoldGraphs()) return changes;
  const std::vector<NodeIndex> order = graph.TopologicalOrder();
  for (const NodeIndex index : order) {
    const auto nested = graph.Subgraphs(index);
    size_t inner = 0;
    for (const auto& [name, held] : nested) inner += RunOn(rewrite, pass, *held, context);
    if (inner > 0) graph.RefreshImplicitInputs(index);
    changes += inner;
  }
  return changes;
}

}  // namespace

std::vector<RewriteEntry> RewritesOf(std::span<const RewriteEntry> entries, OptimizationLevel level) {
  std::vector<RewriteEntry> chosen;
  std::ranges::copy_if(entries, std::back_inserter(chosen),
                       [&](const RewriteEntry& entry) { return entry.level <= level; });
  return chosen;
}

void Append(OptimizationReport& report, const OptimizationReport& later) {
  if (report.passes.empty()) report.nodes_before = later.nodes_before;
  for (const OptimizationReport::Pass& pass : later.passes) {
    const auto known = std::ranges::find(report.passes, pass.name, &OptimizationReport::Pass::name);
    if (known == report.passes.end()) {
      report.passes.push_back(pass);
    } else {
      known->changes += pass.changes;
      known->milliseconds += pass.milliseconds;
    }
  }
  report.rounds += later.rounds;
  report.nodes_after = later.nodes_after;
}

OptimizationReport RunRewrites(Graph& graph, const SessionResources& resources, std::span<const RewriteEntry> entries,
                               const OptimizerOptions& options) {
  OptimizationReport report;
  report.nodes_before = report.nodes_after = CountNodes(graph);
  std::vector<std::unique_ptr<Rewrite>> rewrites;
  for (const RewriteEntry& entry : entries) {
    rewrites.push_back(entry.make());
    report.passes.push_back({.name = std::string(entry.name)});
  }
  const int64_t constants = ConstantBytes(graph);
  RewriteContext context{.resources = resources,
                         .writable = options.writable,
                         .precision = options.precision,
                         .int8_beside_nbits = options.int8_beside_nbits,
                         .round_halves = options.round_halves,
                         .folding_budget = kFoldingBudget + 2 * constants,
                         .folding_operations = kFoldingOperations + static_cast<double>(constants),
                         .folding_time = kFoldingTime + std::chrono::milliseconds(constants / kFoldedBytesPerMillisecond),
                         .lowered_for = options.lowered_for};
  const auto run = [&](size_t at) {
    const auto start = std::chrono::steady_clock::now();
    OptimizationReport::Pass& pass = report.passes[at];
    const size_t changes = RunOn(*rewrites[at], pass.name, graph, context);
    pass.milliseconds += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    pass.changes += changes;
    if (changes > 0)
      options.log(LogLevel::kVerbose, "optimizer: {}: {} changes (round {})", pass.name, changes, report.rounds);
    return changes;
  };
  std::vector<size_t> repeated, last;
  for (size_t i = 0; i < entries.size(); ++i) (entries[i].last ? last : repeated).push_back(i);
  // Ends when every pass has run since the last change.
  size_t unchanged = 0;
  for (size_t turn = 0; turn < kMostRounds * repeated.size() && unchanged < repeated.size(); ++turn) {
    report.rounds = turn / repeated.size() + 1;
    unchanged = run(repeated[turn % repeated.size()]) == 0 ? unchanged + 1 : 0;
  }
  for (const size_t at : last) run(at);
  report.nodes_after = CountNodes(graph);
  return report;
}

OptimizationReport CanonicalizeGraph(Graph& graph, const SessionResources& resources, const OptimizerOptions& options) {
  std::vector<RewriteEntry> passes = RewritesOf(Rewrites(), OptimizationLevel::kBasic);
  std::erase_if(passes, [](const RewriteEntry& pass) { return pass.last; });
  return RunRewrites(graph, resources, passes, options);
}

OptimizationReport OptimizeGraph(Graph& graph, const SessionResources& resources, const OptimizerOptions& options) {
  return RunRewrites(graph, resources, RewritesOf(Rewrites(), options.level), options);
}

}  // namespace tessera
