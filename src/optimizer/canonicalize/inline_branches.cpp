// inline_branches: an If whose condition is constant is replaced by the nodes of the branch that it selects.

#include <algorithm>
#include <map>

#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// Moves the nodes of a nested graph into the graph that holds it.
class BranchMove {
 public:
  BranchMove(Graph& graph, Graph& branch, NodeIndex place) : graph_(graph), branch_(branch), place_(place) {}

  void Run(const std::vector<ValueIndex>& results) {
    // The branch computes a result itself where it can; what it only passes on is copied.
    std::vector<std::pair<ValueIndex, ValueIndex>> copies;
    for (size_t i = 0; i < results.size(); ++i) {
      const ValueIndex output = branch_.outputs()[i];
      if (results[i] == kNone) continue;
      const GraphValue& computed = branch_.value(output);
      if (computed.producer != kNone && moved_.emplace(output, results[i]).second) {
        TypeInfo& type = graph_.value(results[i]).type;
        if (type.kind == computed.type.kind && computed.type.shape) type = computed.type;
      } else {
        copies.emplace_back(output, results[i]);
      }
    }
    const std::vector<NodeIndex> order = branch_.TopologicalOrder();
    for (const NodeIndex index : order) MoveNode(index);
    for (const auto& [from, to] : copies) {
      Node copy;
      copy.op_type = "Identity";
      copy.since_version = std::max(VersionOf(graph_, "Identity"), 1);
      copy.inputs = {Moved(from)};
      copy.outputs = {to};
      graph_.AddNode(std::move(copy), place_);
    }
  }

 private:
  void MoveNode(NodeIndex index) {
    Node node = branch_.node(index);
    for (ValueIndex& input : node.inputs) input = Moved(input);
    for (ValueIndex& input : node.implicit_inputs) input = Moved(input);
    for (ValueIndex& output : node.outputs) output = Moved(output);
    for (const auto& [name, nested] : branch_.Subgraphs(index)) {
      nested->MoveTo(graph_, [&](ValueIndex outer) { return Moved(outer); });
    }
    graph_.AddNode(std::move(node), place_);
  }

  ValueIndex Moved(ValueIndex index) {
    if (index == kNone) return kNone;
    const auto [held, first] = moved_.try_emplace(index, kNone);
    if (!first) return held->second;
    const GraphValue& value = branch_.value(index);
    if (value.outer != kNone) return held->second = value.outer;
    held->second = graph_.AddValue(graph_.FindValue(value.name) == kNone ? value.name : std::string(), value.type);
    if (value.constant) graph_.SetConstant(held->second, *value.constant);
    return held->second;
  }

  Graph& graph_;
  Graph& branch_;
  const NodeIndex place_;
  std::map<ValueIndex, ValueIndex> moved_;  // by index in the branch
};

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
    BranchMove(graph, *branch, index).Run(results);
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> InlineBranches() { return std::make_unique<BranchInlining>(); }

}  // namespace tessera
