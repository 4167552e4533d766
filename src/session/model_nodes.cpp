#include "session/model_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/provenance.h"

namespace tessera {
namespace {

using Fate = PlacementReport::Fate;
using ModelNode = PlacementReport::ModelNode;

class ModelNodeReport {
 public:
  ModelNodeReport(const Graph& graph, PlacementReport& report)
      : graph_(graph), provenance_(*graph.provenance()), report_(report), end_(provenance_.origins().size(), kUnknown) {}

  void Fill(const Assignment* assignment) {
    for (const Provenance::Origin& origin : provenance_.origins()) Add(origin);
    FindRuns();
    for (size_t i = 0; i < report_.model_nodes.size(); ++i) {
      if (report_.model_nodes[i].runs_in.empty()) Settle(i);
    }
    if (assignment != nullptr) TakeRefusals(*assignment);
    for (ModelNode& node : report_.model_nodes) {
      if (node.runs_in.empty()) continue;
      const PlacementReport::NodeEntry& runs = report_.nodes[node.runs_in.front()];
      node.provider = runs.provider;
      if (node.refusals.empty()) node.refusals = runs.refusals;
      for (PlacementReport::ProviderEntry& entry : report_.providers) {
        entry.model_nodes += entry.name == node.provider ? 1 : 0;
      }
    }
  }

 private:
  static constexpr int32_t kUnknown = -2;

  void Add(const Provenance::Origin& origin) {
    const std::string& path = provenance_.graphs()[static_cast<size_t>(origin.graph)].path;
    graph_.Charge(sizeof(ModelNode) + path.size() + origin.name.size() + origin.output.size());
    graph_.limits().Check();
    ModelNode& node = report_.model_nodes.emplace_back();
    node.graph = path;
    node.name = origin.name;
    node.op_type = origin.op_type;
    node.domain = origin.domain;
    node.since_version = origin.since_version;
    node.output = origin.output;
  }

  /// Nodes that stand for one of the model; those inserted beside it only where no other does.
  void FindRuns() {
    for (const bool inserted : {false, true}) {
      for (size_t i = 0; i < report_.nodes.size(); ++i) {
        const PlacementReport::NodeEntry& node = report_.nodes[i];
        if (node.model_nodes.empty() || node.inserted != inserted) continue;
        const size_t own = node.model_nodes.front();
        if (inserted && end_[own] == static_cast<int32_t>(own) &&
            !report_.nodes[report_.model_nodes[own].runs_in.front()].inserted)
          continue;
        report_.model_nodes[own].runs_in.push_back(i);
        end_[own] = static_cast<int32_t>(own);
      }
    }
  }

  /// The node that holds the node's graph, where it runs as a whole, compiled by its provider; else the node itself.
  int32_t RunningHolder(const Provenance::Origin& origin, int32_t node) const {
    const int32_t holder = provenance_.graphs()[static_cast<size_t>(origin.graph)].holder;
    return holder != kNone && end_[static_cast<size_t>(holder)] == holder &&
                   !report_.model_nodes[static_cast<size_t>(holder)].runs_in.empty()
               ? holder
               : node;
  }

  /// Where a node of the model went in the end: one that runs, or one that was folded or removed itself.
  int32_t EndOf(size_t index) {
    std::vector<size_t> way;
    auto at = static_cast<int32_t>(index);
    while (end_[static_cast<size_t>(at)] == kUnknown) {
      const Provenance::Origin& origin = provenance_.origins()[static_cast<size_t>(at)];
      way.push_back(static_cast<size_t>(at));
      end_[static_cast<size_t>(at)] = at;  // where the way ends here, or comes back
      if (origin.fate == NodeFate::kFused) at = origin.into;
      if (origin.fate == NodeFate::kNone) at = RunningHolder(origin, at);
    }
    const int32_t end = end_[static_cast<size_t>(at)];
    for (const size_t passed : way) end_[passed] = end;
    return end;
  }

  void Settle(size_t index) {
    const auto end = static_cast<size_t>(EndOf(index));
    ModelNode& node = report_.model_nodes[index];
    const ModelNode& to = report_.model_nodes[end];
    const bool runs = !to.runs_in.empty();
    const Provenance::Origin& said = provenance_.origins()[runs ? index : end];
    node.pass = said.fate == NodeFate::kNone ? std::string() : provenance_.passes()[said.pass];
    if (!runs) {
      node.fate = said.fate == NodeFate::kFolded ? Fate::kFolded : Fate::kRemoved;
      return;
    }
    node.fate = Fate::kFused;
    node.fused_into = end;
    node.runs_in = {to.runs_in.front()};
    report_.nodes[to.runs_in.front()].model_nodes.push_back(index);
  }

  void TakeRefusals(const Assignment& assignment) {
    for (const auto& [graph, given] : assignment.graphs) {
      for (const auto& [origin, node] : given.of_origin) {
        ModelNode& refused = report_.model_nodes[static_cast<size_t>(origin)];
        const PlacementReport::Refusals& refusals = given.refusals[static_cast<size_t>(node)];
        for (const auto& [provider, reason] : refusals)
          graph_.Charge(sizeof(refusals[0]) + provider.size() + reason.size());
        if (!refused.runs_in.empty()) refused.refusals = refusals;
      }
    }
  }

  const Graph& graph_;
  const Provenance& provenance_;
  PlacementReport& report_;
  std::vector<int32_t> end_;  // by node of the model: itself where it runs
};

/// "Conv 'conv1', Relu 'relu1' and 12 more"
std::string List(const PlacementReport& report, const std::set<size_t>& nodes) {
  constexpr size_t kMost = 16;
  std::string text;
  size_t listed = 0;
  for (const size_t node : nodes) {
    if (listed == kMost) return text + fmt::format(" and {} more", nodes.size() - kMost);
    text += (listed++ == 0 ? "" : ", ") + report.model_nodes[node].Label();
  }
  return text;
}

}  // namespace

void ReportModelNodes(const Graph& graph, const Assignment* assignment, PlacementReport& report) {
  if (graph.provenance() != nullptr) ModelNodeReport(graph, report).Fill(assignment);
}

ModelNodeNames NamesForProfile(const PlacementReport& report) {
  std::vector<std::set<size_t>> of_origin(report.model_nodes.size());
  StringMap<std::set<size_t>> of_fused;
  for (size_t i = 0; i < report.model_nodes.size(); ++i) {
    const ModelNode& node = report.model_nodes[i];
    if (node.runs_in.empty()) continue;
    of_origin[node.fate == Fate::kFused ? node.fused_into : i].insert(i);
    const std::string& fused = report.nodes[node.runs_in.front()].fused_into;
    if (!fused.empty()) of_fused[fused].insert(i);
  }
  ModelNodeNames names;
  for (const std::set<size_t>& nodes : of_origin) names.of_origin.push_back(List(report, nodes));
  for (const auto& [fused, nodes] : of_fused) names.of_fused.emplace(fused, List(report, nodes));
  return names;
}

}  // namespace tessera
