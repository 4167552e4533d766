#include "partition/early_claims.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "graph/move_nodes.h"
#include "graph/private_names.h"
#include "graph/provenance.h"
#include "partition/channels_last.h"

namespace tessera {
namespace {

/// Attribute of an opaque node: its part's index.
constexpr std::string_view kPart = "part";

class SharedKernel final : public Kernel {
 public:
  explicit SharedKernel(std::shared_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
  void Compute(KernelContext& context) override { kernel_->Compute(context); }

 private:
  const std::shared_ptr<Kernel> kernel_;
};

/// Where a part was, for what does not compile.
struct Drawn {
  Graph* outer;
  NodeIndex opaque;
};

class EarlyClaims {
 public:
  EarlyClaims(const SessionResources& resources, const PartitionOptions& options, bool context_nodes, const Logger& log)
      : resources_(resources), options_(options), context_nodes_(context_nodes), log_(log) {}

  EarlyParts Run(Graph& graph) {
    DrawAll(graph, "");
    for (size_t i = 0; i < resources_.providers.size(); ++i) CompileAll(static_cast<int16_t>(i));
    return {std::move(parts_), std::move(refusals_)};
  }

 private:
  void DrawAll(Graph& graph, const std::string& path) {
    PreferLayouts(graph, path);
    Refusals refusals;
    const std::vector<Unit> units = ClaimAsWritten(graph, resources_, options_, log_, path, refusals);
    for (size_t i = 0; i < refusals.size(); ++i) {
      if (refusals[i].empty() || !graph.has_node(static_cast<NodeIndex>(i))) continue;
      for (auto& refusal : refusals[i]) Refuse(graph, static_cast<NodeIndex>(i), std::move(refusal));
    }
    for (const Unit& unit : units) Draw(graph, unit);
    KeepLayouts(graph);
    const GraphViewer viewer(graph);
    for (const NodeIndex index : viewer.nodes()) {
      const auto nested = graph.Subgraphs(index);
      if (nested.empty()) continue;
      for (const auto& [attribute, inner] : nested)
        DrawAll(*inner, PathOfNested(path, graph.node(index), viewer, attribute));
      graph.RefreshImplicitInputs(index);
    }
  }

  bool PrefersChannelsLast(int16_t provider) const {
    return resources_.providers[static_cast<size_t>(provider)].provider->PrefersChannelsLast();
  }

  /// Asks once for what would be claimed, and gives that the layout that its provider prefers.
  void PreferLayouts(Graph& graph, const std::string& path) {
    const auto prefers = [](const ProviderEntry& entry) {
      return entry.provider->ClaimsModelAsWritten() && entry.provider->PrefersChannelsLast();
    };
    if (std::ranges::none_of(resources_.providers, prefers)) return;
    Refusals refusals;
    const std::vector<Unit> units = ClaimAsWritten(graph, resources_, options_, log_, path, refusals);
    for (const Unit& unit : units) {
      const ExecutionProvider& provider = *resources_.providers[static_cast<size_t>(unit.provider)].provider;
      for (const NodeIndex index : unit.nodes) {
        Node& node = graph.node(index);
        node.provider.clear();
        if (!provider.PrefersChannelsLast() || !CanHaveChannelsLast(graph, node) || !provider.ChannelsLastFor(node))
          continue;
        resources_.CheckLoad();
        SetChannelsLast(graph, index, true);
      }
    }
  }

  /// What nobody claimed in the layout that was preferred is as the model has it again.
  void KeepLayouts(Graph& graph) {
    const std::vector<NodeIndex> order = graph.TopologicalOrder();
    for (const NodeIndex index : order) {
      if (graph.node(index).domain == kChannelsLastDomain) SetChannelsLast(graph, index, false);
    }
  }

  void Refuse(const Graph& graph, NodeIndex node, std::pair<std::string, std::string> refusal) {
    const int32_t origin = graph.origin(node).index;
    if (origin != kNone) refusals_[origin].push_back(std::move(refusal));
  }

  void Draw(Graph& graph, const Unit& unit) {
    EarlyPart part{
        .provider = unit.provider, .name = unit.fused->name, .graph = std::make_unique<Graph>(), .tag = unit.tag};
    part.graph->set_name(part.name);
    part.graph->set_opsets(graph.opsets());
    part.graph->set_functions(graph.functions());
    part.graph->set_limits(resources_.limits);
    part.graph->set_definitions(graph.definitions());
    NodeMove move(graph, *part.graph);
    for (const ValueIndex input : unit.fused->inputs) part.graph->AddInput(move.Moved(input));
    for (const NodeIndex index : unit.nodes) {
      resources_.CheckLoad();
      move.Move(index);
    }
    for (const ValueIndex output : unit.fused->outputs) part.graph->AddOutput(move.Moved(output));
    if (PrefersChannelsLast(unit.provider)) CancelTransposes(*part.graph);
    for (const NodeIndex index : unit.nodes) graph.RemoveNode(index);
    Node opaque = *unit.fused;
    opaque.index = kNone;
    opaque.since_version = 1;
    opaque.attributes.push_back({std::string(kPart), static_cast<int64_t>(parts_.size())});
    drawn_.push_back({&graph, graph.AddNode(std::move(opaque), unit.nodes.front())});
    parts_.push_back(std::move(part));
  }

  void CompileAll(int16_t provider) {
    std::vector<size_t> mine;
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].provider == provider) mine.push_back(i);
    }
    if (mine.empty()) return;
    if (mine.size() == 1) return CompileAlone(provider, mine.front());
    try {
      Compile(provider, mine);
    } catch (const std::exception& error) {
      resources_.CheckLoad();
      ThrowIfForbidden(error);
      for (const size_t i : mine) CompileAlone(provider, i);
    }
  }

  void CompileAlone(int16_t provider, size_t i) {
    try {
      Compile(provider, std::span(&i, 1));
    } catch (const std::exception& error) {
      resources_.CheckLoad();
      ThrowIfForbidden(error);
      GiveBack(i, error);
    }
  }

  /// Called while an exception is handled. A program that forbids compiling is not to get a slower session instead.
  static void ThrowIfForbidden(const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    if (known != nullptr && known->code() == ErrorCode::kModelRequiresCompilation) throw;
  }

  void Compile(int16_t index, std::span<const size_t> parts) {
    ExecutionProvider& provider = *resources_.providers[static_cast<size_t>(index)].provider;
    std::vector<FusedSubgraph> subgraphs;
    for (const size_t i : parts)
      subgraphs.push_back({&drawn_[i].outer->node(drawn_[i].opaque), GraphViewer(*parts_[i].graph), parts_[i].tag});
    CompileContext compile = options_.compile;
    std::vector<ContextNode> nodes;
    if (context_nodes_) compile.context_nodes = &nodes;
    std::vector<std::unique_ptr<Kernel>> kernels = CompileSubgraphs(provider, subgraphs, compile);
    for (size_t i = 0; i < parts.size(); ++i) {
      EarlyPart& part = parts_[parts[i]];
      part.kernel = std::move(kernels[i]);
      if (i >= nodes.size()) continue;
      CheckContextNode(nodes[i], part);
      part.context = std::move(nodes[i]);
    }
  }

  /// What is written of it has to be a part of the model.
  static void CheckContextNode(const ContextNode& node, const EarlyPart& part) {
    if (node.op_type.empty()) return;
    const Graph& graph = *part.graph;
    for (const std::string& name : node.inputs) {
      const ValueIndex value = name.empty() ? kNone : graph.FindValue(name);
      const bool known = value != kNone && (graph.value(value).is_input || graph.constant(value) != nullptr);
      Require(name.empty() || known, "the context node of {} reads '{}', which is no input or constant of it", part.name,
              name);
    }
    std::set<std::string_view> outputs;
    for (const ValueIndex output : graph.outputs()) outputs.insert(graph.value(output).name);
    const std::set<std::string_view> given(node.outputs.begin(), node.outputs.end());
    Require(given == outputs && given.size() == node.outputs.size(),
            "the context node of {} has outputs {}, expected each of {} once", part.name, fmt::join(node.outputs, ", "),
            fmt::join(outputs, ", "));
  }

  /// The nodes of a part that did not compile are in their graph again, for whoever is asked next. Of what the program
  /// brought nobody else is.
  void GiveBack(size_t i, const std::exception& error) {
    EarlyPart& part = parts_[i];
    const auto [outer, opaque] = drawn_[i];
    const ProviderEntry& owner = resources_.providers[static_cast<size_t>(part.provider)];
    const std::string_view provider = owner.provider->name();
    if (options_.error_on_failure || owner.of_program) {
      const auto* known = dynamic_cast<const Error*>(&error);
      Fail(known == nullptr ? ErrorCode::kEpFail : known->code(), "{}: subgraph {} does not compile: {}", provider,
           part.name, error.what());
    }
    log_(LogLevel::kWarning, "{}: subgraph {} of the model as written does not compile: {}", provider, part.name,
         error.what());
    const Node stood = outer->node(opaque);
    NodeMove move(*part.graph, *outer, opaque);
    for (size_t k = 0; k < stood.inputs.size(); ++k) move.Stand(part.graph->inputs()[k], stood.inputs[k]);
    for (size_t k = 0; k < stood.outputs.size(); ++k) move.Stand(part.graph->outputs()[k], stood.outputs[k]);
    outer->RemoveNode(opaque);
    const std::vector<NodeIndex> order = part.graph->TopologicalOrder();
    for (const NodeIndex index : order) {
      const NodeIndex moved = move.Move(index);
      outer->node(moved).provider.clear();
      if (outer->node(moved).domain == kChannelsLastDomain) SetChannelsLast(*outer, moved, false);
      Refuse(*outer, moved, {std::string(provider), fmt::format("does not compile: {}", error.what())});
    }
  }

  const SessionResources& resources_;
  const PartitionOptions& options_;
  const bool context_nodes_;
  const Logger& log_;
  std::vector<EarlyPart> parts_;
  std::unordered_map<int32_t, PlacementReport::Refusals> refusals_;
  std::vector<Drawn> drawn_;
};

}  // namespace

EarlyParts DrawEarlyClaims(Graph& graph, const SessionResources& resources, const PartitionOptions& options,
                           bool context_nodes, const Logger& log) {
  const auto early = [](const ProviderEntry& entry) { return entry.provider->ClaimsModelAsWritten(); };
  if (std::ranges::none_of(resources.providers, early)) return {};
  return EarlyClaims(resources, options, context_nodes, log).Run(graph);
}

const EarlyPart* FindEarlyPart(std::span<const EarlyPart> parts, const Node& node) noexcept {
  if (node.domain != kFusedDomain) return nullptr;
  const AttributeValue* value = node.FindAttribute(kPart);
  const auto* index = value == nullptr ? nullptr : std::get_if<int64_t>(value);
  return index == nullptr || static_cast<size_t>(*index) >= parts.size() ? nullptr : &parts[static_cast<size_t>(*index)];
}

void AddRefusals(const EarlyParts& early, PlacementReport& report) {
  for (const auto& [origin, refusals] : early.refusals) {
    if (static_cast<size_t>(origin) >= report.model_nodes.size()) continue;
    PlacementReport::ModelNode& node = report.model_nodes[static_cast<size_t>(origin)];
    if (!node.runs_in.empty()) node.refusals.insert(node.refusals.begin(), refusals.begin(), refusals.end());
  }
}

std::unique_ptr<Kernel> KernelOf(const EarlyPart& part) { return std::make_unique<SharedKernel>(part.kernel); }

}  // namespace tessera
