#include "graph/provenance.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/load_limits.h"
#include "graph/telling_output.h"

namespace tessera {

/// Looks at the nodes that one pass took out of one graph.
class Provenance::Settlement {
 public:
  Settlement(Provenance& provenance, Graph& graph, Graph::Edits edits, uint16_t pass)
      : provenance_(provenance), graph_(graph), edits_(std::move(edits)), pass_(pass), settled_(edits_.removed.size()) {}

  void Run() {
    for (size_t i = 0; i < edits_.removed.size(); ++i) {
      for (const ValueIndex output : edits_.removed[i].outputs) {
        if (output != kNone) writers_[output].push_back(i);
      }
    }
    for (auto slot = edits_.first_added; static_cast<size_t>(slot) < graph_.num_node_slots(); ++slot) {
      if (graph_.has_node(slot)) moved_.insert(graph_.origin(slot).index);
    }
    for (size_t i = 0; i < edits_.removed.size(); ++i) SettleByResult(i);
    for (size_t i = 0; i < edits_.removed.size(); ++i) {
      if (!settled_[i] && FoldedResult(i)) Spread(i, NodeFate::kFolded, kNone);
    }
    for (size_t i = 0; i < edits_.removed.size(); ++i) {
      if (!settled_[i]) SettleByInputs(i);
    }
  }

 private:
  /// Another node computes what the removed one did: it went into that, and so did what it alone had read.
  void SettleByResult(size_t i) {
    if (settled_[i]) return;
    for (const ValueIndex output : edits_.removed[i].outputs) {
      const NodeIndex producer = output == kNone ? kNone : graph_.value(output).producer;
      if (producer == kNone) continue;
      if (graph_.origin(producer).index == kNone) graph_.SetOrigin(producer, edits_.removed[i].origin);
      return Spread(i, NodeFate::kFused, graph_.origin(producer).index);
    }
  }

  bool FoldedResult(size_t i) const {
    return std::ranges::any_of(edits_.removed[i].outputs, [&](ValueIndex output) {
      return output != kNone && graph_.value(output).constant.has_value();
    });
  }

  /// Settles a removed node, and with it those whose results only removed nodes read.
  void Spread(size_t first, NodeFate fate, int32_t into) {
    std::vector<size_t> reached = {first};
    settled_[first] = true;
    for (size_t at = 0; at < reached.size(); ++at) {
      graph_.limits().Check();
      const Graph::RemovedNode& removed = edits_.removed[reached[at]];
      Set(removed, fate, into);
      for (const ValueIndex input : removed.inputs) {
        if (input == kNone || IsThere(input)) continue;
        const auto writers = writers_.find(input);
        if (writers == writers_.end()) continue;
        for (const size_t writer : writers->second) {
          if (settled_[writer]) continue;
          settled_[writer] = true;
          reached.push_back(writer);
        }
      }
    }
  }

  bool IsThere(ValueIndex index) const {
    const GraphValue& value = graph_.value(index);
    return value.producer != kNone || value.constant.has_value();
  }

  /// Nothing is left of what it computed. Where the pass rewrote the node before it, as one that takes in an activation and
  /// computes in another layout does, it went into that; else nobody needs it.
  void SettleByInputs(size_t i) {
    const Graph::RemovedNode& removed = edits_.removed[i];
    for (const ValueIndex input : removed.inputs) {
      const auto writers = input == kNone ? writers_.end() : writers_.find(input);
      if (writers == writers_.end()) continue;
      const int32_t into = edits_.removed[writers->second.front()].origin.index;
      if (into == kNone || into == removed.origin.index || !moved_.contains(into)) continue;
      return Set(removed, NodeFate::kFused, into);
    }
    const int32_t scaled = FoldsIntoProducers() ? OriginOfProducer(removed) : kNone;
    Set(removed, scaled == kNone ? NodeFate::kRemoved : NodeFate::kFused, scaled);
  }

  /// Passes that let the node before compute what a node did by other constants, which no edit of nodes shows.
  bool FoldsIntoProducers() const {
    const std::string& pass = provenance_.passes_[pass_];
    return pass == "fold_scales" || pass == "fold_biases";
  }

  int32_t OriginOfProducer(const Graph::RemovedNode& removed) const {
    for (const ValueIndex input : removed.inputs) {
      const NodeIndex producer = input == kNone ? kNone : graph_.value(input).producer;
      if (producer != kNone) return graph_.origin(producer).index;
    }
    return kNone;
  }

  void Set(const Graph::RemovedNode& removed, NodeFate fate, int32_t into) {
    const int32_t index = removed.origin.index;
    if (index == kNone || index == into) return;
    // Where the pass made another node that stands for it, that one counts as long as it is there.
    const bool certain = fate == NodeFate::kFused && into != kNone && !removed.origin.inserted && !moved_.contains(index);
    Origin& origin = provenance_.origins_[static_cast<size_t>(index)];
    if (fate == NodeFate::kFused && origin.domain.empty() && origin.op_type == "Identity") {  // there is nothing to take in
      fate = NodeFate::kRemoved;
      into = kNone;
    }
    if ((origin.certain && !certain) || (removed.origin.inserted && origin.fate != NodeFate::kNone)) return;
    origin.fate = into == kNone && fate == NodeFate::kFused ? NodeFate::kRemoved : fate;
    origin.into = into;
    origin.certain = certain;
    origin.pass = pass_;
  }

  Provenance& provenance_;
  Graph& graph_;
  const Graph::Edits edits_;
  const uint16_t pass_;
  std::vector<bool> settled_;                                    // by removed node
  std::unordered_map<ValueIndex, std::vector<size_t>> writers_;  // removed nodes by what they computed
  std::unordered_set<int32_t> moved_;                            // origins of the nodes that the pass made
};

void Provenance::Follow(Graph& graph) {
  const auto provenance = std::make_shared<Provenance>();
  provenance->Number(graph, "", kNone);
  graph.set_provenance(provenance);
}

void Provenance::Number(Graph& graph, const std::string& path, int32_t holder) {
  const auto number = static_cast<int32_t>(graphs_.size());
  graphs_.push_back({path, holder});
  const GraphViewer viewer(graph);
  for (NodeIndex index = 0; static_cast<size_t>(index) < graph.num_node_slots(); ++index) {
    if (!graph.has_node(index)) continue;
    const Node& node = graph.node(index);
    const ValueIndex output = TellingOutput(graph, node);
    const std::string name = output == kNone ? std::string() : graph.value(output).name;
    graph.Charge(sizeof(Origin) + node.name.size() + name.size() + node.op_type.size() + node.domain.size());
    const auto origin = static_cast<int32_t>(origins_.size());
    graph.SetOrigin(index, {.index = origin, .inserted = false});
    origins_.push_back({.graph = number,
                        .since_version = node.since_version,
                        .name = node.name,
                        .op_type = node.op_type,
                        .domain = node.domain,
                        .output = name});
    for (const auto& [attribute, nested] : graph.Subgraphs(index)) {
      Number(*nested, PathOfNested(path, graph.node(index), viewer, attribute), origin);
    }
  }
  graph.TakeEdits();
}

void Provenance::Settle(Graph& graph, std::string_view pass) {
  Graph::Edits edits = graph.TakeEdits();
  if (!edits.removed.empty()) Settlement(*this, graph, std::move(edits), PassNumber(pass)).Run();
}

uint16_t Provenance::PassNumber(std::string_view pass) {
  const auto known = std::ranges::find(passes_, pass);
  const auto number = static_cast<uint16_t>(known - passes_.begin());
  if (known == passes_.end()) passes_.emplace_back(pass);
  return number;
}

void Provenance::Restore(std::vector<Origin> origins, std::vector<Nested> graphs, std::vector<std::string> passes) {
  origins_ = std::move(origins);
  graphs_ = std::move(graphs);
  passes_ = std::move(passes);
}

std::string PathOfNested(const std::string& path, const Node& holder, const GraphViewer& graph,
                         std::string_view attribute) {
  return path + holder.Label(&graph) + "." + std::string(attribute) + "/";
}

}  // namespace tessera
