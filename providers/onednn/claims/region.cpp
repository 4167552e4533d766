#include "onednn/claims/region.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "onednn/lowering/lowering.h"
#include "ops/attention/attention.h"
#include "ops/nn/conv.h"

namespace tessera::onednn {
namespace {

/// "int8 or uint8"
std::string Names(TypeSet types) {
  std::string names;
  for (int i = 1; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (types.contains(type)) names += (names.empty() ? "" : " or ") + std::string(ElementTypeName(type));
  }
  return names;
}

/// Whether numbers of this type are computed with on this processor.
bool HasInstructionsFor(ElementType type) { return !kHalfPrecision.contains(type) || HasMatMulsOf(DataTypeOf(type)); }

}  // namespace

std::string RefusalReason(const GraphViewer& graph, const Node& node) {
  const Lowering* lowering = FindLowering(node);
  if (lowering == nullptr) return "oneDNN has no lowering for this operator";
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueIndex input = node.inputs[i];
    if (input == kNone) continue;
    const TypeInfo& type = graph.value(input).type;
    if (lowering->host_inputs && graph.constant(input) != nullptr) continue;
    if (!type.is_tensor() || !lowering->types(i).contains(type.element))
      return "an input is " + type.ToString() + "; " + Names(lowering->types(i)) + " is lowered";
    if (!HasInstructionsFor(type.element))
      return fmt::format("oneDNN has no instructions for {} here", ElementTypeName(type.element));
    if (!type.shape) return "an input's rank is unknown";
    if (type.shape->size() > 6) return "an input has more than 6 dimensions";
    for (const Dimension& dim : *type.shape) {
      if (dim.known() && dim.value == 0) return "an input is empty";
    }
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNone) continue;
    if (i > 0 && !lowering->all_outputs) return "only the first output is lowered";
    const TypeInfo& result = graph.value(node.outputs[i]).type;
    if (!result.is_tensor() || !lowering->output.contains(result.element))
      return "its output is " + result.ToString() + "; " + Names(lowering->output) + " is lowered";
  }
  try {
    return lowering->refusal(graph, node);
  } catch (const Error& error) {  // of its attributes: the CPU provider's kernel says so of the node
    return error.what();
  }
}

bool RoundsOperands(const GraphViewer& graph, const Node& node) {
  const bool is_convolution = node.op_type == "Conv";
  const bool is_attention = node.op_type == "Attention";
  if (!is_convolution && !is_attention && node.op_type != "MatMul" && node.op_type != "Gemm") return false;
  const SymbolicShape& shape = *graph.value(node.inputs[is_convolution ? 1 : 0]).type.shape;
  if (is_attention && shape.size() == 3 && shape.back().known())
    return shape.back().value / std::max<int64_t>(AttentionAttributes(node).q_heads, 1) >= kFewestRounded;
  if (!is_convolution) return !shape.back().known() || shape.back().value >= kFewestRounded;  // A is [..., k]
  if (!std::all_of(shape.begin(), shape.end(), [](const Dimension& dim) { return dim.known(); })) return true;
  const auto enough = [](const Dimension& dim) {
    return std::min(dim.value, kFewestRounded);
  };  // sizes are only what a model says
  int64_t window = 1;
  for (const Dimension& dim : std::span(shape).subspan(2)) window *= enough(dim);
  return RoundedInputs(enough(shape[1]), window, GroupOf(node)) >= kFewestRounded;
}

namespace {

std::vector<ValueIndex> ReadBy(const Node& node) {
  std::vector<ValueIndex> inputs;
  for (const auto* list : {&node.inputs, &node.implicit_inputs}) {
    for (ValueIndex input : *list) {
      if (input != kNone) inputs.push_back(input);
    }
  }
  return inputs;
}

/// Regions that grow along the graph: nodes that read each other and lie as many borders away from its beginning, a border
/// being where a path leaves what is taken and comes back. No path from one of them that leaves it comes back to it, since
/// it gets further away. This takes a step for each edge; regions that could be one are joined afterwards.
std::vector<std::vector<NodeIndex>> GrowRegions(const GraphViewer& graph, const std::vector<bool>& claimed) {
  std::vector<int32_t> borders(claimed.size(), 0);      // by node
  std::vector<NodeIndex> above(claimed.size(), kNone);  // another node of the region, or the node itself
  const auto first_of = [&](NodeIndex node) {
    while (above[static_cast<size_t>(node)] != node) {
      NodeIndex& next = above[static_cast<size_t>(node)];
      node = next = above[static_cast<size_t>(next)];
    }
    return node;
  };
  std::vector<NodeIndex> producers;
  for (const NodeIndex index : graph.nodes()) {
    const auto at = static_cast<size_t>(index);
    producers.clear();
    for (const ValueIndex input : ReadBy(graph.node(index))) {
      const NodeIndex producer = graph.value(input).producer;
      if (producer == kNone || !graph.contains(producer)) continue;
      producers.push_back(producer);
      const bool leaves = claimed[static_cast<size_t>(producer)] && !claimed[at];
      borders[at] = std::max(borders[at], borders[static_cast<size_t>(producer)] + (leaves ? 1 : 0));
    }
    if (!claimed[at]) continue;
    above[at] = index;
    for (const NodeIndex producer : producers) {
      if (!claimed[static_cast<size_t>(producer)] || borders[static_cast<size_t>(producer)] != borders[at]) continue;
      const NodeIndex a = first_of(producer), b = first_of(index);
      above[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
    }
  }
  std::vector<std::vector<NodeIndex>> regions;
  std::map<NodeIndex, size_t> number;
  for (const NodeIndex index : graph.nodes()) {
    if (!claimed[static_cast<size_t>(index)]) continue;
    const auto [region, first] = number.try_emplace(first_of(index), regions.size());
    if (first) regions.emplace_back();
    regions[region->second].push_back(index);
  }
  return regions;
}

/// The graph with each region as one unit, and each other node as one by itself.
class Units {
 public:
  Units(const GraphViewer& graph, const std::vector<std::vector<NodeIndex>>& regions)
      : next_(regions.size()), previous_(regions.size()) {
    std::map<NodeIndex, size_t> unit_of;
    for (size_t i = 0; i < regions.size(); ++i) {
      for (NodeIndex node : regions[i]) unit_of[node] = i;
    }
    for (NodeIndex index : graph.nodes()) {
      const auto [entry, is_new] = unit_of.try_emplace(index, next_.size());
      if (is_new) next_.emplace_back(), previous_.emplace_back();
      const size_t unit = entry->second;
      for (ValueIndex input : ReadBy(graph.node(index))) {
        const auto producer = unit_of.find(graph.value(input).producer);
        if (producer == unit_of.end() || producer->second == unit) continue;
        next_[producer->second].insert(unit);
        previous_[unit].insert(producer->second);
      }
    }
  }

  /// The units that read what this one computes.
  const std::set<size_t>& next(size_t unit) const { return next_[unit]; }

  /// Whether a path through other units leads from one to the other: as one unit they would wait for themselves. True also
  /// where looking for one would take too long.
  bool HasDetour(size_t from, size_t to) {
    std::unordered_set<size_t> seen = {to};  // the direct way is none
    std::vector<size_t> waiting;
    const auto follow = [&](size_t unit) {
      for (const size_t reader : next_[unit]) {
        if (seen.insert(reader).second) waiting.push_back(reader);
      }
      Spend(1 + next_[unit].size());
    };
    follow(from);
    while (!waiting.empty()) {
      const size_t unit = waiting.back();
      waiting.pop_back();
      if (effort_ == 0 || next_[unit].contains(to)) return true;
      follow(unit);
    }
    return false;
  }

  void Merge(size_t from, size_t into) {
    for (const size_t reader : next_[from]) Replace(previous_[reader], from, into);
    for (const size_t source : previous_[from]) Replace(next_[source], from, into);
    Spend(next_[from].size() + previous_[from].size());
    next_[into].merge(next_[from]);
    previous_[into].merge(previous_[from]);
    next_[from].clear();
    previous_[from].clear();
    next_[into].erase(into);
    previous_[into].erase(into);
  }

  void Spend(size_t steps) noexcept { effort_ -= std::min(effort_, steps); }
  /// Whether there is time to look for more.
  bool has_effort() const noexcept { return effort_ > 0; }

 private:
  static void Replace(std::set<size_t>& units, size_t from, size_t into) {
    units.erase(from);
    units.insert(into);
  }

  std::vector<std::set<size_t>> next_, previous_;
  size_t effort_ = size_t{1} << 22;
};

/// Makes one of two regions wherever one reads the other and no path through what is left outside joins them. Edges
/// suffice: of more regions that could be one, the earliest reader of the first has no other path to it.
void MergeRegions(const GraphViewer& graph, std::vector<std::vector<NodeIndex>>& regions) {
  Units units(graph, regions);
  for (bool merged = true; merged && units.has_effort();) {
    merged = false;
    for (size_t from = 0; from < regions.size(); ++from) {
      const auto can_join = [&](size_t to) {
        return to < regions.size() && units.has_effort() && !units.HasDetour(from, to);
      };
      const auto& readers = units.next(from);
      const auto found = std::find_if(readers.begin(), readers.end(), can_join);
      if (found == readers.end()) continue;
      const size_t to = *found;
      auto& target = regions[to];
      units.Spend(regions[from].size());
      target.insert(target.end(), regions[from].begin(), regions[from].end());
      regions[from].clear();
      units.Merge(from, to);
      merged = true;
    }
  }
}

}  // namespace

std::vector<std::vector<NodeIndex>> FindRegions(const GraphViewer& graph, const std::vector<bool>& claimed,
                                                const std::function<bool(const Node&)>& is_anchor) {
  std::vector<std::vector<NodeIndex>> regions = GrowRegions(graph, claimed);
  MergeRegions(graph, regions);
  std::erase_if(regions, [&](const auto& region) {
    return std::none_of(region.begin(), region.end(), [&](NodeIndex index) { return is_anchor(graph.node(index)); });
  });
  std::map<NodeIndex, size_t> position;
  for (NodeIndex index : graph.nodes()) position.emplace(index, position.size());
  for (auto& region : regions) {
    std::sort(region.begin(), region.end(), [&](NodeIndex a, NodeIndex b) { return position.at(a) < position.at(b); });
  }
  return regions;
}

}  // namespace tessera::onednn
