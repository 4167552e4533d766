// recognize_gelu: x/2 (1 + erf(x/sqrt(2))), however its factors are ordered, becomes Gelu.

#include <cmath>

#include "optimizer/edit.h"
#include "optimizer/fused_kernels.h"
#include "optimizer/rewrites.h"
#include "optimizer/scalar.h"

namespace tessera {
namespace {

constexpr int kGeluVersion = 20;

class GeluRecognition final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& erf = graph.node(index);
    if (!IsOp(erf, "Erf") || !HasInput(erf, 0)) return false;
    const Node* scaled = Producer(graph, erf, 0);
    if (scaled == nullptr) return false;
    auto x = OperandBeside(graph, *scaled, "Mul", std::sqrt(0.5));
    if (!x) x = OperandBeside(graph, *scaled, "Div", std::sqrt(2.0));
    const Node* sum = x ? OnlyReader(graph, erf.outputs[0]) : nullptr;
    if (sum == nullptr || !OperandBeside(graph, *sum, "Add", 1)) return false;
    const auto last = Product(graph, *sum, *x);
    if (!last) return false;
    Node gelu;
    gelu.op_type = "Gelu";
    gelu.name = graph.node(last->last).name;
    gelu.since_version = kGeluVersion;
    gelu.inputs = {*x};
    gelu.outputs = {graph.node(last->last).outputs[0]};
    if (ElementOf(graph, *x) != ElementOf(graph, gelu.outputs[0]) || !MayFuse(graph, erf, gelu, context)) return false;
    for (const NodeIndex gone : {last->last, last->before, sum->index, index}) {
      if (graph.has_node(gone)) graph.RemoveNode(gone);
    }
    graph.AddNode(std::move(gelu), last->last);
    return true;
  }

 private:
  struct End {
    NodeIndex last, before;
  };

  /// (x * sum) * 0.5, (sum * 0.5) * x or (x * 0.5) * sum.
  static std::optional<End> Product(const Graph& graph, const Node& sum, ValueIndex x) {
    const Node* first = OnlyReader(graph, sum.outputs[0]);
    if (first == nullptr || !IsOp(*first, "Mul")) return std::nullopt;
    const ValueIndex other = OtherInput(*first, sum.outputs[0]);
    if (other == x) {
      const Node* last = OnlyReader(graph, first->outputs[0]);
      const bool halves = last != nullptr && OperandBeside(graph, *last, "Mul", 0.5);
      return halves ? std::optional(End{last->index, first->index}) : std::nullopt;
    }
    if (OperandBeside(graph, *first, "Mul", 0.5)) {
      const Node* last = OnlyReader(graph, first->outputs[0]);
      const bool multiplies = last != nullptr && IsOp(*last, "Mul") && OtherInput(*last, first->outputs[0]) == x;
      return multiplies ? std::optional(End{last->index, first->index}) : std::nullopt;
    }
    if (other == kNone || graph.value(other).producer == kNone) return std::nullopt;
    const Node& half = graph.node(graph.value(other).producer);
    const auto halved = OperandBeside(graph, half, "Mul", 0.5);
    if (!halved || *halved != x) return std::nullopt;
    return End{first->index, HasOneReader(graph, other) ? half.index : first->index};
  }
};

}  // namespace

std::unique_ptr<Rewrite> RecognizeGelu() { return std::make_unique<GeluRecognition>(); }

}  // namespace tessera
