#include "region.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lowering.h"

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
bool HasInstructionsFor(ElementType type) { return !kHalves.contains(type) || HasProductsOf(DataTypeOf(type)); }

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
    if (!HasInstructionsFor(type.element)) return fmt::format("oneDNN has no instructions for {} here", ElementTypeName(type.element));
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
  return lowering->refusal(graph, node);
}

bool RoundsFactors(const GraphViewer& graph, const Node& node) {
  const bool is_convolution = node.op_type == "Conv";
  const bool is_attention = node.op_type == "Attention";
  if (!is_convolution && !is_attention && node.op_type != "MatMul" && node.op_type != "Gemm") return false;
  const SymbolicShape& shape = *graph.value(node.inputs[is_convolution ? 1 : 0]).type.shape;
  if (is_attention && shape.size() == 3 && shape.back().known()) return shape.back().value / AttributeOr<int64_t>(node, "q_num_heads", 1) >= kFewestRounded;
  if (!is_convolution) return !shape.back().known() || shape.back().value >= kFewestRounded;  // A is [..., k]
  if (!std::all_of(shape.begin(), shape.end(), [](const Dimension& dim) { return dim.known(); })) return true;
  const auto enough = [](const Dimension& dim) { return std::min(dim.value, kFewestRounded); };  // sizes are only what a model says
  int64_t window = 1;
  for (const Dimension& dim : std::span(shape).subspan(2)) window *= enough(dim);
  return RoundedInputs(enough(shape[1]), window, AttributeOr<int64_t>(node, "group", 1)) >= kFewestRounded;
}

namespace {

/// Does any of `from`, or a region that one of them depends on, equal `target`? A region runs as one node, so what any of
/// its nodes depends on, all its outputs depend on.
bool DependsOn(const std::set<int>& from, int target, const std::vector<std::set<int>>& region_depends) {
  std::set<int> seen;
  std::vector<int> waiting(from.begin(), from.end());
  while (!waiting.empty()) {
    const int region = waiting.back();
    waiting.pop_back();
    if (region == target) return true;
    if (!seen.insert(region).second) continue;
    const auto& next = region_depends[static_cast<size_t>(region)];
    waiting.insert(waiting.end(), next.begin(), next.end());
  }
  return false;
}

std::vector<ValueIndex> ReadBy(const Node& node) {
  std::vector<ValueIndex> inputs;
  for (const auto* list : {&node.inputs, &node.implicit_inputs}) {
    for (ValueIndex input : *list) {
      if (input != kNone) inputs.push_back(input);
    }
  }
  return inputs;
}

/// Regions grown along the topological order: each node joins a region of its producers where that stays convex.
std::vector<std::vector<NodeIndex>> GrowRegions(const GraphViewer& graph, const std::vector<bool>& takes) {
  std::vector<std::vector<NodeIndex>> regions;
  std::vector<std::set<int>> region_depends;
  // For each value: its producer's region, and every region that it depends on.
  std::vector<int> region_of(graph.num_values(), -1);
  std::vector<std::set<int>> ancestors(graph.num_values());
  for (NodeIndex index : graph.nodes()) {
    const Node& node = graph.node(index);
    const std::vector<ValueIndex> inputs = ReadBy(node);
    std::set<int> depends;
    for (ValueIndex input : inputs)
      depends.insert(ancestors[static_cast<size_t>(input)].begin(), ancestors[static_cast<size_t>(input)].end());
    int region = -1;
    if (takes[static_cast<size_t>(index)]) {
      for (ValueIndex input : inputs) {
        const int candidate = region_of[static_cast<size_t>(input)];
        if (candidate < 0 || candidate <= region) continue;
        // Every input must come from the region itself or not depend on it at all.
        const bool convex = std::all_of(inputs.begin(), inputs.end(), [&](ValueIndex other) {
          const auto at = static_cast<size_t>(other);
          return region_of[at] == candidate || !DependsOn(ancestors[at], candidate, region_depends);
        });
        if (convex) region = candidate;
      }
      if (region < 0) {
        region = static_cast<int>(regions.size());
        regions.emplace_back();
        region_depends.emplace_back();
      }
      regions[static_cast<size_t>(region)].push_back(index);
      for (ValueIndex input : inputs) {
        const auto at = static_cast<size_t>(input);
        if (region_of[at] != region)
          region_depends[static_cast<size_t>(region)].insert(ancestors[at].begin(), ancestors[at].end());
      }
      depends.insert(region);
    }
    for (ValueIndex output : node.outputs) {
      if (output == kNone) continue;
      region_of[static_cast<size_t>(output)] = region;
      ancestors[static_cast<size_t>(output)] = depends;
    }
  }
  return regions;
}

/// The graph with each region as one unit, and each other node as one by itself.
class Units {
 public:
  Units(const GraphViewer& graph, const std::vector<std::vector<NodeIndex>>& regions) : next_(regions.size()) {
    std::map<NodeIndex, size_t> unit_of;
    for (size_t i = 0; i < regions.size(); ++i) {
      for (NodeIndex node : regions[i]) unit_of[node] = i;
    }
    for (NodeIndex index : graph.nodes()) {
      const auto [entry, is_new] = unit_of.try_emplace(index, next_.size());
      if (is_new) next_.emplace_back();
      const size_t unit = entry->second;
      for (ValueIndex input : ReadBy(graph.node(index))) {
        const auto producer = unit_of.find(graph.value(input).producer);
        if (producer != unit_of.end() && producer->second != unit) next_[producer->second].insert(unit);
      }
    }
  }

  /// The units that read what this one computes.
  const std::set<size_t>& next(size_t unit) const { return next_[unit]; }

  /// Whether a path through other units leads from one to the other: as one unit they would wait for themselves.
  bool HasDetour(size_t from, size_t to) const {
    std::vector<bool> seen(next_.size());
    std::vector<size_t> waiting;
    const auto follow = [&](size_t unit) {
      for (const size_t reader : next_[unit]) {
        if (seen[reader]) continue;
        seen[reader] = true;
        waiting.push_back(reader);
      }
    };
    seen[to] = true;  // the direct way is none
    follow(from);
    while (!waiting.empty()) {
      const size_t unit = waiting.back();
      waiting.pop_back();
      if (next_[unit].contains(to)) return true;
      follow(unit);
    }
    return false;
  }

  void Merge(size_t from, size_t into) {
    next_[into].merge(next_[from]);
    next_[from].clear();
    for (auto& readers : next_) {
      if (readers.erase(from) != 0) readers.insert(into);
    }
    next_[into].erase(into);
  }

 private:
  std::vector<std::set<size_t>> next_;
};

/// Makes one of two regions wherever one reads the other and no path through what is left outside joins them. Edges suffice: of
/// more regions that could be one, the earliest reader of the first has no other path to it.
void MergeRegions(const GraphViewer& graph, std::vector<std::vector<NodeIndex>>& regions) {
  Units units(graph, regions);
  for (bool merged = true; merged;) {
    merged = false;
    for (size_t from = 0; from < regions.size(); ++from) {
      const auto can_join = [&](size_t to) { return to < regions.size() && !units.HasDetour(from, to); };
      const auto& readers = units.next(from);
      const auto to = std::find_if(readers.begin(), readers.end(), can_join);
      if (to == readers.end()) continue;
      auto& target = regions[*to];
      target.insert(target.end(), regions[from].begin(), regions[from].end());
      regions[from].clear();
      units.Merge(from, *to);
      merged = true;
    }
  }
}

}  // namespace

std::vector<std::vector<NodeIndex>> FindRegions(const GraphViewer& graph, const std::vector<bool>& takes,
                                                const std::function<bool(const Node&)>& is_anchor) {
  std::vector<std::vector<NodeIndex>> regions = GrowRegions(graph, takes);
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
