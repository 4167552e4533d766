// eliminate_dead_nodes: nodes that nobody reads go, and so do constants, and optional outputs that a kernel would compute
// for nobody.

#include <algorithm>

#include "base/load_limits.h"
#include "graph/formal_parameters.h"
#include "graph/operator_definitions.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

bool IsRead(const Graph& graph, ValueIndex index) {
  return index != kNone && (graph.value(index).is_output || !graph.value(index).consumers.empty());
}

/// Where the number of outputs says whether it trains, they all stay.
bool MayDropOutputs(const Node& node) { return !IsOp(node, "BatchNormalization") && !IsOp(node, "Dropout"); }

class DeadNodeElimination final : public Rewrite {
 public:
  size_t Run(Graph& graph, RewriteContext&) override {
    const std::vector<NodeIndex> order = graph.TopologicalOrder();
    size_t changes = 0;
    for (auto index = order.rbegin(); index != order.rend(); ++index) {
      graph.limits().Check();
      const auto& outputs = graph.node(*index).outputs;
      if (std::none_of(outputs.begin(), outputs.end(), [&](ValueIndex output) { return IsRead(graph, output); })) {
        graph.RemoveNode(*index);
        ++changes;
      } else {
        changes += DropOutputs(graph, *index);
      }
    }
    for (size_t i = 0; i < graph.num_values(); ++i) {
      const auto value = static_cast<ValueIndex>(i);
      if (!graph.value(value).constant || IsRead(graph, value)) continue;
      graph.DropConstant(value);
      ++changes;
    }
    return changes;
  }

 private:
  static size_t DropOutputs(Graph& graph, NodeIndex index) {
    Node& node = graph.node(index);
    if (node.outputs.size() == 1 || !MayDropOutputs(node)) return 0;
    const onnx::OpSchema* schema = FindSchema(graph, node);
    if (schema == nullptr) return 0;
    size_t changes = 0;
    for (size_t i = 0; i < std::min(node.outputs.size(), schema->outputs().size()); ++i) {
      if (node.outputs[i] == kNone || IsRead(graph, node.outputs[i])) continue;
      if (schema->outputs()[i].GetOption() != onnx::OpSchema::Optional) continue;
      graph.SetOutput(index, i, kNone);
      ++changes;
    }
    // Where outputs may be any number, theirs has a meaning: parts of a Split, states of a Loop, results of a branch.
    while (!IsVariadic(schema->outputs()) && node.outputs.back() == kNone) node.outputs.pop_back();
    return changes;
  }
};

}  // namespace

std::unique_ptr<Rewrite> EliminateDeadNodes() { return std::make_unique<DeadNodeElimination>(); }

}  // namespace tessera
