// fold_transpose_into_matmul: matrices that are transposed for a MatMul, such as the similarities x x', are read as
// they are by a FusedMatMul. fuse_transposes does so for one matrix, with Gemm; this is for many. Last, as what recognizes
// or fuses into matmuls knows MatMul, and only where it is left to the CPU provider.

#include <numeric>
#include <utility>

#include "cpu/lowering/lowering.h"
#include "graph/microsoft/schemas.h"
#include "lowering/fused_kernels.h"
#include "optimizer/analysis/edit.h"

namespace tessera {
namespace {

bool SwapsRowsAndColumns(const Permutation& perm) {
  Permutation swapped(perm.size());
  std::iota(swapped.begin(), swapped.end(), int64_t{0});
  if (perm.size() < 3) return false;
  std::swap(swapped[perm.size() - 2], swapped[perm.size() - 1]);
  return perm == swapped;
}

class FoldTransposeRewrite final : public NodeRewrite {
 protected:
  /// The rhs only: it is packed anyway, while whole rows of the lhs are read in place.
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& matmul = graph.node(index);
    if (!IsOp(matmul, "MatMul") || !HasInput(matmul, 1)) return false;
    const ElementType type = ElementOf(graph, matmul.outputs[0]);
    if (type != ElementType::kFloat && type != ElementType::kDouble) return false;
    const Node* transpose = Producer(graph, matmul, 1);
    if (transpose == nullptr || !IsOp(*transpose, "Transpose") || !HasInput(*transpose, 0)) return false;
    const auto perm = PermutationOf(graph, *transpose);
    if (!perm || !SwapsRowsAndColumns(*perm) || !context.Lowers(graph.node(index))) return false;
    Node fused;
    fused.domain = kMicrosoftDomain;
    fused.op_type = "FusedMatMul";
    fused.name = matmul.name;
    fused.since_version = 1;
    fused.inputs = {matmul.inputs[0], transpose->inputs[0]};
    fused.outputs = matmul.outputs;
    SetAttribute(fused, "transB", int64_t{1});
    if (!MayFuse(graph, fused, context)) return false;
    const NodeIndex transposed = transpose->index;
    graph.RemoveNode(index);
    graph.AddNode(std::move(fused), index);
    RemoveUnread(graph, transposed);  // which may be the lhs, too
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> FoldTransposeIntoMatMul() { return std::make_unique<FoldTransposeRewrite>(); }

}  // namespace tessera
