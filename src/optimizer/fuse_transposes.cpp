// fuse_transposes: a Transpose of a Transpose, with elementwise operators of one input between them or not, becomes one or
// none; one in front of a product of matrices becomes Gemm's transA or transB.

#include <algorithm>
#include <optional>
#include <set>

#include "optimizer/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

bool IsUnary(const Node& node) {
  static const std::set<std::string_view> unary = {
      "Abs",  "Acos",    "Acosh",       "Asin",       "Asinh", "Atan",      "Atanh",      "BitwiseNot", "Cast",     "Ceil",
      "Celu", "Clip",    "Cos",         "Cosh",       "Elu",   "Erf",       "Exp",        "Floor",      "Gelu",     "HardSigmoid",
      "IsNaN", "IsInf",  "LeakyRelu",   "Log",        "Mish",  "Neg",       "Not",        "Reciprocal", "Relu",     "Round",
      "Selu", "Sigmoid", "Sign",        "Sin",        "Sinh",  "Softplus",  "Softsign",   "Sqrt",       "Swish",    "Tan",
      "Tanh", "Shrink",  "HardSwish",   "Identity",   "ThresholdedRelu"};
  return node.domain.empty() && unary.contains(node.op_type) && HasOneOutput(node) && HasInput(node, 0);
}

class TransposeFusion final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    const Node& node = graph.node(index);
    if (IsOp(node, "Transpose")) return FuseWithInput(graph, index);
    if (IsOp(node, "Gemm") && node.since_version >= 7) return IntoGemm(graph, index);
    return IsOp(node, "MatMul") && IntoMatMul(graph, index);
  }

 private:
  /// Walks up from a Transpose over elementwise nodes that have no other reader to the Transpose above them.
  static bool FuseWithInput(Graph& graph, NodeIndex index) {
    const auto second = PermutationOf(graph, graph.node(index));
    if (!second) return false;
    std::vector<NodeIndex> between;
    const Node* above = Producer(graph, graph.node(index), 0);
    for (ValueIndex value = graph.node(index).inputs[0]; above != nullptr && IsUnary(*above);) {
      if (!HasOneReader(graph, value)) return false;
      between.push_back(above->index);
      value = above->inputs[0];
      above = Producer(graph, *above, 0);
    }
    if (above == nullptr || !HasInput(*above, 0)) return false;
    const auto first = PermutationOf(graph, *above);
    if (!first || first->size() != second->size()) return false;
    Permutation composed(first->size());
    for (size_t i = 0; i < composed.size(); ++i) composed[i] = (*first)[static_cast<size_t>((*second)[i])];
    const bool nothing = std::is_sorted(composed.begin(), composed.end());
    const ValueIndex source = above->inputs[0];
    if (between.empty()) {
      if (nothing && BypassNode(graph, index, source)) return true;
    } else if (!nothing) {
      return false;  // as many as before
    }
    const SymbolicShape shape = *ShapeOf(graph, source);
    for (const NodeIndex moved : between) graph.value(graph.node(moved).outputs[0]).type.shape = shape;
    graph.SetInput(between.empty() ? index : between.back(), 0, source);
    if (nothing && !between.empty() && BypassNode(graph, index, graph.node(index).inputs[0])) return true;
    SetAttribute(graph.node(index), "perm", composed);
    return true;
  }

  /// Input `i`, a matrix, is transposed; its Transpose's own input then.
  static std::optional<ValueIndex> Transposed(const Graph& graph, const Node& node, size_t i) {
    const Node* producer = Producer(graph, node, i);
    if (producer == nullptr || !HasInput(*producer, 0)) return std::nullopt;
    const auto perm = PermutationOf(graph, *producer);
    return perm && *perm == Permutation{1, 0} ? std::optional(producer->inputs[0]) : std::nullopt;
  }

  static bool IntoGemm(Graph& graph, NodeIndex index) {
    bool changed = false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      Node& node = graph.node(index);
      const auto source = Transposed(graph, node, i);
      if (!source) continue;
      const std::string_view name = i == 0 ? "transA" : "transB";
      SetAttribute(node, name, int64_t{IntAttribute(node, name, 0) == 0});
      graph.SetInput(index, i, *source);
      changed = true;
    }
    return changed;
  }

  static bool IntoMatMul(Graph& graph, NodeIndex index) {
    Node& node = graph.node(index);
    const int version = VersionOf(graph, "Gemm");
    const ElementType type = ElementOf(graph, node.outputs[0]);
    const bool real = type == ElementType::kFloat || type == ElementType::kDouble || type == ElementType::kFloat16 ||
                      (type == ElementType::kBFloat16 && version >= 13);
    if (version < 11 || !real) return false;  // C was required before
    for (const ValueIndex factor : node.inputs) {
      if (ShapeOf(graph, factor) == nullptr || ShapeOf(graph, factor)->size() != 2) return false;
    }
    if (!Transposed(graph, node, 0) && !Transposed(graph, node, 1)) return false;
    node.op_type = "Gemm";
    node.since_version = version;
    return IntoGemm(graph, index);
  }
};

}  // namespace

std::unique_ptr<Rewrite> FuseTransposes() { return std::make_unique<TransposeFusion>(); }

}  // namespace tessera
