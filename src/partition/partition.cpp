#include "partition/partition.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "graph/check_types.h"
#include "graph/private_names.h"
#include "graph/provenance.h"
#include "graph/schema.h"
#include "partition/early_claims.h"
#include "partition/islands.h"
#include "partition/placement.h"
#include "partition/registry_lookup.h"
#include "partition/unit_graph.h"
#include "partition/untaken_node.h"
#include "runtime/step_context.h"

namespace tessera {
namespace {

class Partitioner {
 public:
  Partitioner(Graph& graph, const SessionResources& resources, const PartitionOptions& options, const Logger& log,
              const std::string& path)
      : graph_(graph),
        viewer_(graph),
        resources_(resources),
        options_(options),
        log_(log),
        path_(path),
        units_(graph),
        owner_(graph.num_node_slots(), -1),
        refusals_(graph.num_node_slots()) {}

  std::vector<Unit> ClaimAsWritten(Refusals& refusals) {
    as_written_ = true;
    for (size_t i = 0; i < resources_.providers.size(); ++i) {
      if (provider(static_cast<int16_t>(i)).ClaimsModelAsWritten()) Offer(static_cast<int16_t>(i));
    }
    std::erase_if(made_, [](const Unit& unit) { return unit.fused == nullptr; });
    refusals = std::move(refusals_);
    return std::move(made_);
  }

  void Assign(Assignment& assignment) {
    ForEachNested([&](NodeIndex, std::string_view, Graph& nested, const std::string& path) {
      Partitioner(nested, resources_, options_, log_, path).Assign(assignment);
    });
    TakeEarlyParts();
    for (size_t i = 0; i < resources_.providers.size(); ++i) Offer(static_cast<int16_t>(i));
    CheckAllTaken();
    Assignment::OfGraph& given = assignment.graphs[&graph_];
    given.providers.assign(owner_.size(), -1);
    for (size_t i = 0; i < owner_.size(); ++i) {
      if (owner_[i] >= 0) given.providers[i] = made_[static_cast<size_t>(owner_[i])].provider;
    }
    given.refusals = std::move(refusals_);
    for (const NodeIndex index : graph_.TopologicalOrder()) {
      const NodeOrigin origin = graph_.origin(index);
      if (origin.index == kNone) continue;
      const auto [known, first] = given.of_origin.try_emplace(origin.index, index);
      if (!first && !origin.inserted && graph_.origin(known->second).inserted) known->second = index;
    }
  }

  GraphPartition Run(PlacementReport& report, const Assignment* assignment) {
    GraphPartition result;
    if (assignment != nullptr) TakeOver(*assignment);
    ForEachNested([&](NodeIndex node, std::string_view attribute, Graph& nested, const std::string& path) {
      result.nested.emplace(std::pair(node, std::string(attribute)),
                            PartitionGraph(nested, resources_, options_, report, log_, assignment, path));
    });
    TakeEarlyParts();
    for (size_t i = 0; i < resources_.providers.size(); ++i) {
      Offer(static_cast<int16_t>(i));
      CompileClaims(static_cast<int16_t>(i));
    }
    CheckAllTaken();
    for (const NodeIndex first : units_.Order()) {
      result.units.push_back(std::move(made_.at(static_cast<size_t>(owner_[static_cast<size_t>(first)]))));
    }
    ReportUnits({graph_, viewer_, path_, refusals_, options_.precision, resources_}, result.units, report);
    return result;
  }

 private:
  template <class Visit>
  void ForEachNested(const Visit& visit) {
    for (const NodeIndex index : graph_.TopologicalOrder()) {
      resources_.CheckLoad();
      graph_.node(index).provider.clear();  // of a partition before this one
      for (const auto& [attribute, nested] : graph_.Subgraphs(index)) {
        visit(index, attribute, *nested, PathOfNested(path_, graph_.node(index), viewer_, attribute));
      }
    }
  }

  /// Opaque nodes belong to who claimed what they stand for.
  void TakeEarlyParts() {
    if (options_.early == nullptr || options_.early->parts.empty()) return;
    for (const NodeIndex index : graph_.TopologicalOrder()) {
      const EarlyPart* part = FindEarlyPart(options_.early->parts, graph_.node(index));
      if (part == nullptr) continue;
      if (const std::string* failure = FailureOf(index, part->provider); failure != nullptr) {
        Fail(ErrorCode::kEpFail, "{}: subgraph {}: {}; leave the provider out", provider(part->provider).name(), part->name,
             *failure);
      }
      early_names_.insert(part->name);
      Take(part->provider, {.provider = part->provider,
                            .nodes = {index},
                            .def = part->kernel->PlacesOfOperands(),
                            .fused = std::make_unique<Node>(graph_.node(index)),
                            .kernel = KernelOf(*part),
                            .early = part});
    }
  }

  /// Providers get what they were given, and what they made of it; what they refused stands in the report.
  void TakeOver(const Assignment& assignment) {
    const auto given = assignment.graphs.find(&graph_);
    if (given != assignment.graphs.end()) {
      assigned_ = given->second.providers;
      InheritRefusals(given->second);
    }
    const size_t known = assigned_.size();
    assigned_.resize(owner_.size(), static_cast<int16_t>(resources_.providers.size() - 1));
    for (const NodeIndex index : graph_.TopologicalOrder()) {
      if (static_cast<size_t>(index) < known) continue;
      for (size_t i = 0; i < resources_.providers.size(); ++i) {
        if (provider(static_cast<int16_t>(i)).name() == graph_.node(index).provider)
          assigned_[static_cast<size_t>(index)] = static_cast<int16_t>(i);
      }
    }
  }

  void InheritRefusals(const Assignment::OfGraph& given) {
    for (const NodeIndex index : graph_.TopologicalOrder()) {
      NodeIndex from = index;
      if (static_cast<size_t>(index) >= given.refusals.size()) {
        const auto found = given.of_origin.find(graph_.origin(index).index);
        if (found == given.of_origin.end()) continue;
        from = found->second;
      }
      refusals_[static_cast<size_t>(index)] = given.refusals[static_cast<size_t>(from)];
    }
  }

  bool IsFor(NodeIndex node, int16_t index) const {
    const bool last = static_cast<size_t>(index) + 1 == resources_.providers.size();
    return last || assigned_.empty() || assigned_[static_cast<size_t>(node)] == index;
  }

  ExecutionProvider& provider(int16_t i) const noexcept { return *resources_.providers[static_cast<size_t>(i)].provider; }

  class Sink final : public RefusalSink {
   public:
    Sink(Partitioner& partitioner, std::string_view provider, bool listens)
        : partitioner_(partitioner), provider_(provider), listens_(listens) {}
    void Refuse(NodeIndex node, std::string reason) override {
      if (listens_) partitioner_.Refuse(node, provider_, std::move(reason));
    }

   private:
    Partitioner& partitioner_;
    std::string_view provider_;
    bool listens_;
  };

  /// What a provider's registry has, but for what it failed at.
  class Lookup final : public KernelLookup {
   public:
    Lookup(const Partitioner& partitioner, int16_t provider)
        : partitioner_(partitioner),
          provider_(provider),
          registry_(partitioner.provider(provider).kernels(), partitioner.viewer_) {}
    const KernelDef* Find(const Node& node, std::string* why) const override {
      partitioner_.resources_.CheckLoad();
      const std::string* failure = partitioner_.FailureOf(node.index, provider_);
      if (failure == nullptr) return registry_.Find(node, why);
      if (why != nullptr) *why = *failure;
      return nullptr;
    }

   private:
    const Partitioner& partitioner_;
    const int16_t provider_;
    const RegistryLookup registry_;
  };

  const std::string* FailureOf(NodeIndex node, int16_t provider) const {
    return options_.failed == nullptr ? nullptr : options_.failed->Find(graph_, node, provider);
  }

  void Refuse(NodeIndex node, std::string_view provider, std::string reason) {
    if (!graph_.has_node(node)) return;
    graph_.Charge(sizeof(refusals_[0][0]) + provider.size() + reason.size());
    log_(LogLevel::kVerbose, "{}{}: {} refuses: {}", path_, graph_.node(node).Label(&viewer_), provider, reason);
    refusals_[static_cast<size_t>(node)].emplace_back(std::string(provider), std::move(reason));
  }

  bool IsFree(NodeIndex node) const noexcept { return graph_.has_node(node) && owner_[static_cast<size_t>(node)] < 0; }

  /// What the provider offers to run: nothing, where it fails at saying so and another is left to ask.
  std::vector<ComputeCapability> Ask(const ExecutionProvider& asked, const KernelLookup& kernels, RefusalSink& refusals,
                                     bool last) {
    try {
      return asked.GetCapability(viewer_, kernels, refusals);
    } catch (const std::exception& error) {
      resources_.CheckLoad();
      if (last || options_.error_on_failure) throw;
      log_(LogLevel::kWarning, "{}{} does not say what it runs: {}", path_, asked.name(), error.what());
      for (const NodeIndex node : viewer_.nodes()) {
        if (IsFree(node)) refusals.Refuse(node, error.what());
      }
      return {};
    }
  }

  void Offer(int16_t index) {
    ExecutionProvider& asked = provider(index);
    const bool last = static_cast<size_t>(index) + 1 == resources_.providers.size();
    if (last && options_.disable_cpu_fallback) return;
    if (!as_written_ && asked.ClaimsOnlyAsWritten()) return;
    const Lookup lookup(*this, index);
    Sink sink(*this, asked.name(), as_written_ ? asked.ClaimsOnlyAsWritten() : last || assigned_.empty());
    std::vector<ComputeCapability> claims = Ask(asked, lookup, sink, last);
    std::vector<std::vector<NodeIndex>> fused;
    for (ComputeCapability& claim : claims) {
      const size_t claimed = claim.nodes.size();
      std::erase_if(claim.nodes, [&](NodeIndex node) {
        return !IsFree(node) || !IsFor(node, index) || (!last && RefuseUntyped(node, index)) || RefuseFailed(node, index);
      });
      if (!claim.fuse) continue;
      if (!as_written_) RefuseNested(index, claim);
      if (claim.whole && claim.nodes.size() < claimed) RefuseGroup(index, claim, "it holds nodes that it cannot have");
      fused.push_back(claim.nodes);
    }
    const bool drawn = units_.CanDrawAll(fused);
    for (ComputeCapability& claim : claims) {
      const bool changed =
          std::erase_if(claim.nodes, [&](NodeIndex node) { return !IsFree(node); }) > 0;  // another claim took them
      if (claim.whole && changed) RefuseGroup(index, claim, "another group of its provider has nodes of it");
      if (claim.nodes.empty()) continue;
      if (claim.fuse) {
        std::vector<std::vector<NodeIndex>> parts =
            drawn && !changed ? std::vector<std::vector<NodeIndex>>{units_.Sorted(claim.nodes)} : units_.Split(claim.nodes);
        if (claim.whole && parts.size() > 1) {
          RefuseGroup(index, claim, "a path leaves it and enters it again");
        } else {
          Fuse(index, claim, std::move(parts));
        }
      } else if (!as_written_) {
        for (const NodeIndex node : claim.nodes) TakeSingle(index, node, lookup);
      }
    }
    if (as_written_) return;
    const bool on_host = resources_.providers[static_cast<size_t>(index)].memory == SessionResources::kHost;
    if (!on_host && assigned_.empty()) GiveBackIslands(index);
  }

  /// Kernels for types that show when the model runs are made for the last provider's own; of operators without a schema
  /// nobody knows more than who claims them.
  bool RefuseUntyped(NodeIndex node, int16_t index) {
    const Node& asked = graph_.node(node);
    if (TypesAreKnown(graph_, asked) || FindSchema(graph_, asked) == nullptr) return false;
    Refuse(node, provider(index).name(), "types of its inputs or outputs are not known before it runs");
    return true;
  }

  /// Whether the provider failed at a node that it claims all the same.
  bool RefuseFailed(NodeIndex node, int16_t index) {
    const std::string* failure = FailureOf(node, index);
    if (failure != nullptr) Refuse(node, provider(index).name(), *failure);
    return failure != nullptr;
  }

  void TakeSingle(int16_t index, NodeIndex node, const KernelLookup& lookup) {
    resources_.CheckLoad();
    std::string why;
    const KernelDef* def = lookup.Find(graph_.node(node), &why);
    if (def == nullptr) return Refuse(node, provider(index).name(), std::move(why));
    Take(index, {.provider = index, .nodes = {node}, .def = def});
  }

  void Take(int16_t index, Unit unit) {
    for (const NodeIndex node : unit.nodes) {
      owner_[static_cast<size_t>(node)] = static_cast<int32_t>(made_.size());
      graph_.node(node).provider = provider(index).name();
    }
    made_.push_back(std::move(unit));
  }

  /// What is to be drawn together or not at all, and cannot be; nothing of the claim is left.
  void RefuseGroup(int16_t index, ComputeCapability& claim, std::string_view rule) {
    const std::string_view name = provider(index).name();
    const std::string why = fmt::format("its group {}of {} nodes cannot be one: {}",
                                        claim.name.empty() ? "" : claim.name + " ", claim.nodes.size(), rule);
    if (options_.error_on_failure) Fail(ErrorCode::kEpFail, "{}: {}", name, why);
    log_(LogLevel::kWarning, "{}{}: {}", path_, name, why);
    for (const NodeIndex node : claim.nodes) Refuse(node, name, why);
    claim.nodes.clear();
  }

  void RefuseNested(int16_t index, ComputeCapability& claim) {
    std::erase_if(claim.nodes, [&](NodeIndex node) {
      const bool nested = !graph_.Subgraphs(node).empty();
      if (nested) Refuse(node, provider(index).name(), "nodes with nested graphs are not fused");
      return nested;
    });
  }

  /// For a fused node: "Conv+Relu", "Conv+Relu_2", ...
  std::string UniqueName(const std::string& what) {
    std::string name;
    do {
      const size_t number = ++fused_named_[what];
      name = path_ + what + (number == 1 ? "" : "_" + std::to_string(number));
    } while (early_names_.contains(name));
    return name;
  }

  /// Takes the parts of a claimed subgraph, to be compiled.
  void Fuse(int16_t index, const ComputeCapability& claim, std::vector<std::vector<NodeIndex>> parts) {
    for (std::vector<NodeIndex>& part : parts) {
      resources_.CheckLoad();
      const GraphViewer window(graph_, part);
      auto fused = std::make_unique<Node>();
      fused->op_type = claim.name.empty() ? "Fused" : claim.name;
      fused->name = UniqueName(fused->op_type);
      fused->domain = kFusedDomain;
      fused->inputs.assign(window.inputs().begin(), window.inputs().end());
      fused->outputs.assign(window.outputs().begin(), window.outputs().end());
      fused->provider = provider(index).name();
      units_.Merge(part);
      Take(index, {.provider = index, .nodes = std::move(part), .fused = std::move(fused), .tag = claim.tag});
    }
  }

  /// Compiles what the provider took as wholes, all at once, or one by one where that fails: only what does not compile is
  /// free for the next provider.
  void CompileClaims(int16_t index) {
    std::vector<Unit*> claimed;
    for (Unit& unit : made_) {
      if (unit.provider == index && unit.fused != nullptr && unit.kernel == nullptr) claimed.push_back(&unit);
    }
    if (claimed.empty()) return;
    if (claimed.size() == 1) return CompileAlone(index, *claimed.front());
    try {
      Compile(index, claimed);
    } catch (const std::exception&) {
      resources_.CheckLoad();
      for (Unit* unit : claimed) CompileAlone(index, *unit);
    }
  }

  void Compile(int16_t index, std::span<Unit* const> units) {
    std::vector<FusedSubgraph> subgraphs;
    for (const Unit* unit : units) subgraphs.push_back({unit->fused.get(), GraphViewer(graph_, unit->nodes), unit->tag});
    std::vector<std::unique_ptr<Kernel>> kernels = CompileSubgraphs(provider(index), subgraphs, options_.compile);
    for (size_t i = 0; i < units.size(); ++i) units[i]->kernel = std::move(kernels[i]);
  }

  void CompileAlone(int16_t index, Unit& unit) {
    Unit* const one = &unit;
    try {
      Compile(index, std::span(&one, 1));
    } catch (const std::exception& error) {
      resources_.CheckLoad();
      if (options_.error_on_failure) RethrowAt(*unit.fused, graph_);
      const std::string why = fmt::format("does not compile: {}", error.what());
      const std::string line = fmt::format("{}: subgraph {} {}", provider(index).name(), unit.fused->name, why);
      if (options_.failed == nullptr) log_(LogLevel::kWarning, "{}", line);
      for (const NodeIndex node : unit.nodes) {
        Refuse(node, provider(index).name(), why);
        if (options_.failed != nullptr) options_.failed->Add(graph_, node, index, why, line);
      }
      GiveBack(unit);
    }
  }

  /// The unit's nodes are free again.
  void GiveBack(Unit& unit) {
    if (unit.fused != nullptr) units_.Separate(unit.nodes);
    for (const NodeIndex node : unit.nodes) {
      owner_[static_cast<size_t>(node)] = -1;
      graph_.node(node).provider.clear();
    }
    unit.fused.reset();
    unit.nodes.clear();
  }

  /// Small groups of nodes on a device between nodes on the host: the copies in and out cost more than they win.
  void GiveBackIslands(int16_t index) {
    if (options_.min_island_nodes <= 1) return;
    const auto mine = [&](NodeIndex node) {
      const int32_t owner = owner_[static_cast<size_t>(node)];
      return owner >= 0 && made_[static_cast<size_t>(owner)].provider == index;
    };
    ForEachIsland(graph_, units_, mine, [&](std::span<const NodeIndex> island) {
      if (static_cast<int64_t>(island.size()) >= options_.min_island_nodes) return;
      for (const NodeIndex node : island) {
        const int32_t owner = owner_[static_cast<size_t>(node)];
        if (owner >= 0) GiveBack(made_[static_cast<size_t>(owner)]);  // not with another node of its unit
        Refuse(
            node, provider(index).name(),
            fmt::format("an island of {} between nodes elsewhere: its copies would cost more than it wins", island.size()));
      }
    });
  }

  void CheckAllTaken() const {
    for (const NodeIndex index : graph_.TopologicalOrder()) {
      if (owner_[static_cast<size_t>(index)] >= 0) continue;
      FailForUntaken(graph_, index, path_, refusals_[static_cast<size_t>(index)], options_);
    }
  }

  Graph& graph_;
  const GraphViewer viewer_;
  const SessionResources& resources_;
  const PartitionOptions& options_;
  const Logger& log_;
  const std::string path_;
  UnitGraph units_;
  std::vector<Unit> made_;
  std::vector<int32_t> owner_;                 // index into made_, by node
  std::map<std::string, size_t> fused_named_;  // how many fused nodes are called so
  std::set<std::string> early_names_;          // of fused nodes that were there before
  Refusals refusals_;
  bool as_written_ = false;        // only sets are asked for, before portable passes, control flow included
  std::vector<int16_t> assigned_;  // to which provider, by node; empty: providers get what they claim
};

}  // namespace

std::vector<std::unique_ptr<Kernel>> CompileSubgraphs(ExecutionProvider& provider, std::span<const FusedSubgraph> subgraphs,
                                                      const CompileContext& context) {
  std::vector<std::unique_ptr<Kernel>> kernels = provider.Compile(subgraphs, context);
  Require(kernels.size() == subgraphs.size(), "{} compiled {} kernels for {} subgraphs", provider.name(), kernels.size(),
          subgraphs.size());
  for (const auto& kernel : kernels) Require(kernel != nullptr, "{} compiled no kernel", provider.name());
  return kernels;
}

std::vector<Unit> ClaimAsWritten(Graph& graph, const SessionResources& resources, const PartitionOptions& options,
                                 const Logger& log, const std::string& path, Refusals& refusals) {
  return Partitioner(graph, resources, options, log, path).ClaimAsWritten(refusals);
}

Assignment AssignProviders(Graph& graph, const SessionResources& resources, const PartitionOptions& options,
                           const Logger& log) {
  Assignment assignment;
  Partitioner(graph, resources, options, log, "").Assign(assignment);
  return assignment;
}

GraphPartition PartitionGraph(Graph& graph, const SessionResources& resources, const PartitionOptions& options,
                              PlacementReport& report, const Logger& log, const Assignment* assignment,
                              const std::string& path) {
  return Partitioner(graph, resources, options, log, path).Run(report, assignment);
}

}  // namespace tessera
