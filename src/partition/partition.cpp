#include "partition/partition.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "graph/infer_types.h"
#include "graph/schema.h"
#include "optimizer/analysis/edit.h"
#include "partition/left_to_cpu.h"
#include "partition/unit_graph.h"
#include "runtime/step_context.h"

namespace tessera {
namespace {

/// Operators that are worth a trip to a device by themselves.
bool IsHeavy(const Node& node) {
  static const std::set<std::string_view> heavy = {
      "Conv", "ConvTranspose", "MatMul",        "Gemm",        "Attention",     "LSTM",        "GRU",
      "RNN",  "Einsum",        "FlexAttention", "ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"};
  return heavy.contains(node.op_type);
}

class Partitioner {
 public:
  Partitioner(Graph& graph, const SessionResources& resources, const PartitionOptions& options, PlacementReport& report,
              const Logger& log, const std::string& path)
      : graph_(graph),
        viewer_(graph),
        resources_(resources),
        options_(options),
        report_(report),
        log_(log),
        path_(path),
        units_(graph),
        owner_(graph.num_node_slots(), -1),
        refusals_(graph.num_node_slots()) {}

  GraphPartition Run() {
    GraphPartition result;
    for (const NodeIndex index : graph_.TopologicalOrder()) {
      resources_.CheckLoad();
      graph_.node(index).provider.clear();  // of a partition before this one
      for (const auto& [attribute, nested] : graph_.Subgraphs(index)) {
        const std::string inner = path_ + graph_.node(index).Label(&viewer_) + "." + std::string(attribute) + "/";
        result.nested.emplace(std::pair(index, std::string(attribute)),
                              PartitionGraph(*nested, resources_, options_, report_, log_, inner));
      }
    }
    for (size_t i = 0; i < resources_.providers.size(); ++i) Offer(static_cast<int16_t>(i));
    CheckAllTaken();
    for (const NodeIndex first : units_.Order()) {
      result.units.push_back(std::move(made_.at(static_cast<size_t>(owner_[static_cast<size_t>(first)]))));
    }
    Report(result);
    return result;
  }

 private:
  ExecutionProvider& provider(int16_t i) const noexcept { return *resources_.providers[static_cast<size_t>(i)].provider; }

  class Sink final : public RefusalSink {
   public:
    Sink(Partitioner& partitioner, std::string_view provider) : partitioner_(partitioner), provider_(provider) {}
    void Refuse(NodeIndex node, std::string reason) override { partitioner_.Refuse(node, provider_, std::move(reason)); }

   private:
    Partitioner& partitioner_;
    std::string_view provider_;
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

  /// The optimizer gave the node attributes that only the CPU provider reads.
  bool IsForCpu(NodeIndex node) const { return graph_.node(node).FindAttribute(kFusedActivation) != nullptr; }

  void Offer(int16_t index) {
    ExecutionProvider& asked = provider(index);
    const bool last = static_cast<size_t>(index) + 1 == resources_.providers.size();
    if (last && options_.disable_cpu_fallback) return;
    const Lookup lookup(*this, index);
    Sink sink(*this, asked.name());
    std::vector<ComputeCapability> claims = asked.GetCapability(viewer_, lookup, sink);
    std::vector<std::vector<NodeIndex>> fused;
    for (ComputeCapability& claim : claims) {
      std::erase_if(claim.nodes, [&](NodeIndex node) {
        return !IsFree(node) || (!last && (IsForCpu(node) || RefuseUntyped(node, index))) || RefuseFailed(node, index);
      });
      if (!claim.fuse) continue;
      RefuseNested(index, claim);
      fused.push_back(claim.nodes);
    }
    const bool whole = units_.CanDrawAll(fused);
    for (ComputeCapability& claim : claims) {
      const bool changed =
          std::erase_if(claim.nodes, [&](NodeIndex node) { return !IsFree(node); }) > 0;  // another claim took them
      if (claim.nodes.empty()) continue;
      if (claim.fuse) {
        Fuse(index, claim,
             whole && !changed ? std::vector<std::vector<NodeIndex>>{units_.Sorted(claim.nodes)}
                               : units_.Split(claim.nodes));
      } else {
        for (const NodeIndex node : claim.nodes) TakeSingle(index, node, lookup);
      }
    }
    if (resources_.providers[static_cast<size_t>(index)].memory != SessionResources::kHost) GiveBackIslands(index);
  }

  /// Kernels for types that show when the model runs are made for the last provider's own; of operators without a schema
  /// nobody knows more than who claims them.
  bool RefuseUntyped(NodeIndex node, int16_t index) {
    const Node& asked = graph_.node(node);
    if (TypesAreKnown(graph_, asked) || FindSchema(asked) == nullptr) return false;
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

  void RefuseNested(int16_t index, ComputeCapability& claim) {
    std::erase_if(claim.nodes, [&](NodeIndex node) {
      const bool nested = !graph_.Subgraphs(node).empty();
      if (nested) Refuse(node, provider(index).name(), "nodes with nested graphs are not fused");
      return nested;
    });
  }

  /// Compiles the parts of a claimed subgraph; what does not compile stays free for the next provider.
  void Fuse(int16_t index, const ComputeCapability& claim, std::vector<std::vector<NodeIndex>> parts) {
    size_t number = 0;
    for (std::vector<NodeIndex>& part : parts) {
      resources_.CheckLoad();
      const GraphViewer window(graph_, part);
      auto fused = std::make_unique<Node>();
      fused->op_type = claim.name.empty() ? "Fused" : claim.name;
      fused->name = path_ + fused->op_type + (number++ == 0 ? "" : "_" + std::to_string(number));
      fused->domain = "tessera.fused";
      fused->inputs.assign(window.inputs().begin(), window.inputs().end());
      fused->outputs.assign(window.outputs().begin(), window.outputs().end());
      fused->provider = provider(index).name();
      try {
        const FusedSubgraph subgraph{fused.get(), window};
        auto kernels = provider(index).Compile(std::span(&subgraph, 1));
        Require(kernels.size() == 1 && kernels[0] != nullptr, "{} compiled no kernel", provider(index).name());
        units_.Merge(part);
        Take(index,
             {.provider = index, .nodes = std::move(part), .fused = std::move(fused), .kernel = std::move(kernels[0])});
      } catch (const std::exception& error) {
        resources_.CheckLoad();
        if (options_.error_on_failure) RethrowAt(*fused, graph_);
        log_(LogLevel::kWarning, "{}: subgraph {} does not compile: {}", provider(index).name(), fused->name, error.what());
        for (const NodeIndex node : part)
          Refuse(node, provider(index).name(), fmt::format("does not compile: {}", error.what()));
      }
    }
  }

  /// Small groups of nodes on a device between nodes on the host: the copies in and out cost more than they win.
  void GiveBackIslands(int16_t index) {
    if (options_.min_island_nodes <= 1) return;
    std::vector<bool> seen(owner_.size());
    const auto mine = [&](NodeIndex node) {
      const int32_t owner = owner_[static_cast<size_t>(node)];
      return owner >= 0 && made_[static_cast<size_t>(owner)].provider == index;
    };
    for (const NodeIndex start : graph_.TopologicalOrder()) {
      if (seen[static_cast<size_t>(start)] || !mine(start)) continue;
      std::vector<NodeIndex> island = {start};
      seen[static_cast<size_t>(start)] = true;
      size_t neighbours = 0;
      bool heavy = false;
      for (size_t i = 0; i < island.size(); ++i) {
        heavy |= IsHeavy(graph_.node(island[i]));
        for (const auto edges : {units_.predecessors(island[i]), units_.successors(island[i])}) {
          for (const NodeIndex other : edges) {
            if (!mine(other)) {
              ++neighbours;
            } else if (!seen[static_cast<size_t>(other)]) {
              seen[static_cast<size_t>(other)] = true;
              island.push_back(other);
            }
          }
        }
      }
      if (heavy || neighbours == 0 || static_cast<int64_t>(island.size()) >= options_.min_island_nodes) continue;
      for (const NodeIndex node : island) {
        Unit& unit = made_[static_cast<size_t>(owner_[static_cast<size_t>(node)])];
        if (unit.fused != nullptr) continue;
        owner_[static_cast<size_t>(node)] = -1;
        graph_.node(node).provider.clear();
        Refuse(
            node, provider(index).name(),
            fmt::format("an island of {} between nodes elsewhere: its copies would cost more than it wins", island.size()));
      }
    }
  }

  void CheckAllTaken() const {
    for (const NodeIndex index : graph_.TopologicalOrder()) {
      if (owner_[static_cast<size_t>(index)] >= 0) continue;
      const Node& node = graph_.node(index);
      std::string reasons;
      for (const auto& [name, reason] : refusals_[static_cast<size_t>(index)])
        reasons += fmt::format("; {}: {}", name, reason);
      if (options_.disable_cpu_fallback) reasons += "; CPUExecutionProvider: not asked (disable_cpu_fallback)";
      Fail(ErrorCode::kNotImplemented, "{}{} (version {}): no provider runs it{}; {}", path_, node.Label(&viewer_),
           node.since_version, reasons, RemedyFor(node));
    }
  }

  /// Domains that ONNX Runtime keeps to itself get into a file only when it saves a model after its last optimizations.
  static std::string_view RemedyFor(const Node& node) {
    if (node.domain == "com.microsoft.nchwc" || node.domain == "com.ms.internal.nhwc") {
      return "ONNX Runtime lays tensors out so for its own kernels: load the original model, or save the optimized one at "
             "its level 'extended'";
    }
    return "name a provider that does, or export the model without this operator";
  }

  std::vector<std::string> Names(std::span<const ValueIndex> values) const {
    size_t bytes = 0;  // before there are as many copies of a long name as it has readers
    for (const ValueIndex value : values)
      bytes += sizeof(std::string) + (value == kNone ? 0 : graph_.value(value).name.size());
    graph_.Charge(bytes);
    std::vector<std::string> names;
    for (const ValueIndex value : values) names.push_back(value == kNone ? std::string() : graph_.value(value).name);
    return names;
  }

  /// What its provider says of a node; "f32" where the optimizer, or for operators made of products the session, allows
  /// less and the provider makes no use of it.
  std::string PrecisionOf(const Node& node, const ExecutionProvider& runs_it) const {
    if (const std::string_view stated = runs_it.PrecisionOf(viewer_, node); !stated.empty()) return std::string(stated);
    static const std::set<std::string_view> factored = {"Conv", "ConvTranspose", "MatMul", "Gemm", "RNN", "GRU", "LSTM"};
    const bool by_session =
        options_.precision != Precision::kFloat32 && node.domain.empty() && factored.contains(node.op_type);
    return by_session || node.FindAttribute(kPrecisionAttribute) != nullptr ? std::string(NameOf(Precision::kFloat32)) : "";
  }

  void Report(const GraphPartition& result) {
    for (const Unit& unit : result.units) {
      for (const NodeIndex index : unit.nodes) {
        resources_.CheckLoad();
        const Node& node = graph_.node(index);
        graph_.Charge(sizeof(PlacementReport::NodeEntry) + path_.size() + node.name.size() +
                      (unit.fused != nullptr ? unit.fused->name.size() : 0));
        report_.nodes.push_back({.graph = path_,
                                 .name = node.name,
                                 .op_type = node.op_type,
                                 .domain = node.domain,
                                 .since_version = node.since_version,
                                 .provider = node.provider,
                                 .fused_into = unit.fused != nullptr ? unit.fused->name : "",
                                 .refusals = refusals_[static_cast<size_t>(index)],
                                 .inputs = Names(node.inputs),
                                 .outputs = Names(node.outputs),
                                 .precision = PrecisionOf(node, provider(unit.provider))});
        for (PlacementReport::ProviderEntry& entry : report_.providers) entry.nodes += entry.name == node.provider ? 1 : 0;
      }
    }
  }

  Graph& graph_;
  const GraphViewer viewer_;
  const SessionResources& resources_;
  const PartitionOptions& options_;
  PlacementReport& report_;
  const Logger& log_;
  const std::string path_;
  UnitGraph units_;
  std::vector<Unit> made_;
  std::vector<int32_t> owner_;  // index into made_, by node
  std::vector<std::vector<std::pair<std::string, std::string>>> refusals_;
};

}  // namespace

GraphPartition PartitionGraph(Graph& graph, const SessionResources& resources, const PartitionOptions& options,
                              PlacementReport& report, const Logger& log, const std::string& path) {
  return Partitioner(graph, resources, options, report, log, path).Run();
}

}  // namespace tessera
