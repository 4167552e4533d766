// fuse_transposes: a Transpose of a Transpose becomes one or none; one in front of a MatMul of matrices becomes Gemm's
// transA or transB; one in front of Shape an order of sizes.

#include <algorithm>
#include <optional>

#include "ops/math/gemm.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

class TransposeFusion final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    const Node& node = graph.node(index);
    if (IsOp(node, "Transpose")) return FuseWithInput(graph, index);
    if (IsOp(node, "Shape")) return SizesBefore(graph, index);
    if (IsOp(node, "Gemm") && node.since_version >= 7) return IntoGemm(graph, index);
    return IsOp(node, "MatMul") && IntoMatMul(graph, index);
  }

 private:
  static bool FuseWithInput(Graph& graph, NodeIndex index) {
    const auto second = PermutationOf(graph, graph.node(index));
    const Node* above = Producer(graph, graph.node(index), 0);
    const auto first = second && above != nullptr ? PermutationOf(graph, *above) : std::nullopt;
    if (!first || first->size() != second->size()) return false;
    Permutation composed(first->size());
    for (size_t i = 0; i < composed.size(); ++i) composed[i] = (*first)[static_cast<size_t>((*second)[i])];
    const ValueIndex source = above->inputs[0];
    if (std::is_sorted(composed.begin(), composed.end()) && BypassNode(graph, index, source)) return true;
    graph.SetInput(index, 0, source);
    SetAttribute(graph.node(index), "perm", composed);
    return true;
  }

  /// The sizes of what a Transpose gives are those of its input in another order: nobody needs to transpose for them.
  static bool SizesBefore(Graph& graph, NodeIndex index) {
    const Node& shape = graph.node(index);
    const Node* transpose = Producer(graph, shape, 0);
    const auto perm = transpose == nullptr ? std::nullopt : PermutationOf(graph, *transpose);
    if (!perm || !shape.attributes.empty() || VersionOf(graph, "Gather") < 1) return false;
    const ValueIndex sizes = shape.outputs[0], source = transpose->inputs[0];
    const SymbolicShape one_axis = {Dimension{.value = static_cast<int64_t>(perm->size()), .symbol = {}}};
    const ValueIndex before = graph.AddValue("", TypeInfo::OfTensor(ElementType::kInt64, one_axis));
    graph.RemoveNode(index);
    AddOperator(graph, "Shape", {source}, before, index);
    AddOperator(graph, "Gather", {before, AddIntegers(graph, *perm)}, sizes, index);
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
      const GemmAttributes attributes(node);
      SetAttribute(node, i == 0 ? "transA" : "transB", int64_t{i == 0 ? !attributes.trans_a : !attributes.trans_b});
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
    for (const ValueIndex operand : node.inputs) {
      if (ShapeOf(graph, operand) == nullptr || ShapeOf(graph, operand)->size() != 2) return false;
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
