// inline_branches: an If whose condition is constant is replaced by the nodes of the branch that it selects.

#include <algorithm>

#include "graph/move_nodes.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// Moves the nodes of a nested graph into the graph that holds it, where they compute `results`.
void MoveBranch(Graph& graph, Graph& branch, NodeIndex before, const std::vector<ValueIndex>& results) {
  NodeMove move(branch, graph, before);
  // The branch computes a result itself where it can; what it only passes on is copied.
  std::vector<std::pair<ValueIndex, ValueIndex>> copies;
  for (size_t i = 0; i < results.size(); ++i) {
    const ValueIndex output = branch.outputs()[i];
    if (results[i] == kNone) continue;
    const GraphValue& computed = branch.value(output);
    if (computed.producer != kNone && move.Stand(output, results[i])) {
      TypeInfo& type = graph.value(results[i]).type;
      if (type.kind == computed.type.kind && computed.type.shape) type = computed.type;
    } else {
      copies.emplace_back(output, results[i]);
    }
  }
  const std::vector<NodeIndex> order = branch.TopologicalOrder();
  for (const NodeIndex index : order) move.Move(index);
  for (const auto& [from, to] : copies) {
    Node copy;
    copy.op_type = "Identity";
    copy.since_version = std::max(VersionOf(graph, "Identity"), 1);
    copy.inputs = {move.Moved(from)};
    copy.outputs = {to};
    graph.AddNode(std::move(copy), before);
  }
}

class BranchInlining final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    const Node& node = graph.node(index);
    const Tensor* condition = IsOp(node, "If") ? ConstantInput(graph, node, 0) : nullptr;
    if (condition == nullptr || !condition->is(ElementType::kBool) || condition->num_elements() != 1) return false;
    const AttributeValue* attribute = node.FindAttribute(*condition->data<bool>() ? "then_branch" : "else_branch");
    const auto* held = attribute == nullptr ? nullptr : std::get_if<std::shared_ptr<Graph>>(attribute);
    if (held == nullptr) return false;
    const std::shared_ptr<Graph> branch = *held;  // outlives its node
    if (!branch->inputs().empty() || branch->outputs().size() < node.outputs.size()) return false;
    const std::vector<ValueIndex> results = node.outputs;
    graph.RemoveNode(index);
    MoveBranch(graph, *branch, index, results);
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> InlineBranches() { return std::make_unique<BranchInlining>(); }

}  // namespace tessera
