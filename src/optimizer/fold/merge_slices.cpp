// merge_slices: slices of slices along other axes, which exporters write one axis at a time, become one Slice: what it
// reads is copied once.

#include <algorithm>

#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/slice_bounds.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

bool IsSlice(const Node& node) { return IsOp(node, "Slice") && node.since_version >= 10 && HasOneOutput(node); }

class SliceMerging final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    const Node& outer = graph.node(index);
    const Node* inner = IsSlice(outer) ? Producer(graph, outer, 0) : nullptr;
    if (inner == nullptr || !IsSlice(*inner) || !OnlySlicesRead(graph, inner->outputs[0])) return false;
    auto first = SliceBoundsOf(graph, *inner);
    const auto second = SliceBoundsOf(graph, outer);
    if (!first || !second || std::ranges::find_first_of(first->axes, second->axes) != first->axes.end()) return false;
    Node merged = outer;
    merged.inputs = {inner->inputs[0]};
    for (std::vector<int64_t> SliceBounds::* const list :
         {&SliceBounds::starts, &SliceBounds::ends, &SliceBounds::axes, &SliceBounds::steps}) {
      std::vector<int64_t>& all = (*first).*list;
      all.insert(all.end(), ((*second).*list).begin(), ((*second).*list).end());
      merged.inputs.push_back(AddIntegers(graph, all));
    }
    const NodeIndex before = inner->index;
    graph.RemoveNode(index);
    graph.AddNode(std::move(merged), index);
    RemoveUnread(graph, before);
    return true;
  }

 private:
  /// Then nothing is left of the inner one in the end.
  static bool OnlySlicesRead(const Graph& graph, ValueIndex value) {
    if (graph.value(value).is_output) return false;
    return std::ranges::all_of(graph.value(value).consumers, [&](NodeIndex reader) {
      return IsSlice(graph.node(reader)) && graph.node(reader).inputs[0] == value;
    });
  }
};

}  // namespace

std::unique_ptr<Rewrite> MergeSlices() { return std::make_unique<SliceMerging>(); }

}  // namespace tessera
