// merge_activations: an elementwise operator after another that leaves it nothing to do goes (Relu after Clip from 0, Abs
// after Relu, Floor after Round), two that undo each other go (Neg, Not), and Relu and Clip become one Clip.

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "optimizer/analysis/bounds.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

using Names = std::set<std::string_view>;

/// By operator: the operators before it that make it change nothing.
const std::map<std::string_view, Names>& Redundant() {
  static const Names not_negative = {"Relu", "Abs", "Sigmoid", "HardSigmoid", "Softmax", "Exp", "Softplus"};
  static const Names whole = {"Ceil", "Floor", "Round"};
  static const std::map<std::string_view, Names> table = {
      {"Relu", not_negative}, {"Abs", {"Relu", "Abs"}}, {"Ceil", whole},
      {"Floor", whole},       {"Round", whole},         {"Sign", {"Sign"}},
  };
  return table;
}

/// The least signed integer is its own absolute value.
bool MayWrap(const Graph& graph, const Node& node, const Node& before) {
  const ElementType type = ElementOf(graph, node.inputs[0]);
  const bool real = type == ElementType::kFloat || type == ElementType::kDouble || IsHalf(type);
  return IsOp(before, "Abs") && IsOp(node, "Relu") && !real;
}

bool UndoesItself(const Node& node) { return IsOp(node, "Neg") || IsOp(node, "Not"); }

class ActivationMerging final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    const Node& node = graph.node(index);
    if (!node.domain.empty() || !HasOneOutput(node)) return false;
    const Node* before = Producer(graph, node, 0);
    if (before == nullptr || !before->domain.empty() || !HasOneOutput(*before) || !HasInput(*before, 0)) return false;
    if (UndoesItself(node) && before->op_type == node.op_type) return BypassNode(graph, index, before->inputs[0]);
    const auto redundant = Redundant().find(node.op_type);
    if (redundant != Redundant().end() && redundant->second.contains(before->op_type) && !MayWrap(graph, node, *before)) {
      return BypassNode(graph, index, node.inputs[0]);
    }
    return MergeBounds(graph, index, *before);
  }

 private:
  static bool MergeBounds(Graph& graph, NodeIndex index, const Node& before) {
    const auto first = BoundsOf(graph, before), second = BoundsOf(graph, graph.node(index));
    if (!first || !second) return false;
    const ValueIndex between = graph.node(index).inputs[0];
    if (first->low >= second->low && first->high <= second->high) return BypassNode(graph, index, between);
    const int version = VersionOf(graph, "Clip");
    if (!HasOneReader(graph, between) || version < 11) return false;
    Node clip = graph.node(index);
    clip.op_type = "Clip";
    clip.since_version = version;
    clip.attributes.clear();
    clip.inputs = {before.inputs[0], Bound(graph, std::clamp(first->low, second->low, second->high), -kInfinity),
                   Bound(graph, std::clamp(first->high, second->low, second->high), kInfinity)};
    if (clip.inputs.back() == kNone) clip.inputs.pop_back();
    const NodeIndex gone = before.index;
    graph.RemoveNode(index);
    graph.RemoveNode(gone);
    graph.AddNode(std::move(clip), index);
    return true;
  }

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  /// The input of Clip; none where the bound is the one that it has without.
  static ValueIndex Bound(Graph& graph, double bound, double without) {
    if (bound == without) return kNone;
    const auto value = static_cast<float>(bound);
    return graph.AddConstant("", Tensor::Of<float>({}, std::span(&value, 1)));
  }
};

}  // namespace

std::unique_ptr<Rewrite> MergeActivations() { return std::make_unique<ActivationMerging>(); }

}  // namespace tessera
