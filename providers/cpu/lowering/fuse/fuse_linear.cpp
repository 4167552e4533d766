// fuse_linear: MatMul by a constant matrix, or Gemm, the addition of a bias and of a value of the result's size, and the
// activation after them become Linear (ai.tessera), which does all that in the epilogue and reads
// matrices of 16 bits as they are. Only where it is left to the CPU provider, which has the operator, and after all other
// passes, which do not know it.

#include <algorithm>

#include "cpu/lowering/fuse/activation.h"
#include "cpu/lowering/lowering.h"
#include "graph/private_names.h"
#include "lowering/fused_kernels.h"
#include "ops/math/gemm.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/scalar.h"

namespace tessera {
namespace {

/// A MatMul or Gemm, and the nodes after it that are fused into it.
struct WeightedSum {
  ValueIndex x = kNone, w = kNone, bias = kNone, residual = kNone;
  bool transposed = false;
  std::optional<cpu::Activation<float>> activation;
  ValueIndex result = kNone;
  std::vector<NodeIndex> nodes;
};

/// N numbers that broadcast along the last dimension of a value of that rank.
bool IsBias(const Graph& graph, ValueIndex value, size_t rank, int64_t n) {
  const SymbolicShape* shape = ShapeOf(graph, value);
  if (shape == nullptr || shape->empty() || shape->size() > rank || shape->back().value != n) return false;
  return std::all_of(shape->begin(), shape->end() - 1, [](const Dimension& dim) { return dim.value == 1; });
}

/// The constant matrix that is the rhs, or is converted to float for it; kNone for another.
ValueIndex MatrixOf(const Graph& graph, const Node& matmul) {
  ValueIndex w = matmul.inputs[1];
  const Node* cast = Producer(graph, matmul, 1);
  if (cast != nullptr && IsOp(*cast, "Cast") && IsHalf(ElementOf(graph, cast->inputs[0]))) w = cast->inputs[0];
  const Tensor* weights = graph.constant(w);
  return weights != nullptr && weights->shape().rank() == 2 && weights->num_elements() > 0 ? w : kNone;
}

/// The node alone: Gemm's C is what it adds already.
std::optional<WeightedSum> MatMulOf(const Graph& graph, const Node& node) {
  const bool is_gemm = IsOp(node, "Gemm");
  if (!is_gemm && !IsOp(node, "MatMul")) return std::nullopt;
  const ValueIndex w = MatrixOf(graph, node);
  if (w == kNone || ElementOf(graph, node.inputs[1]) != ElementType::kFloat) return std::nullopt;
  const Shape& weights = graph.constant(w)->shape();
  WeightedSum weighted{.x = node.inputs[0], .w = w, .result = node.outputs[0], .nodes = {node.index}};
  const SymbolicShape *from = ShapeOf(graph, weighted.x), *to = ShapeOf(graph, weighted.result);
  if (from == nullptr || to == nullptr || from->empty() || from->size() != to->size()) return std::nullopt;
  if (!is_gemm) return weighted;
  const GemmAttributes attributes(node);
  if (attributes.trans_a || attributes.alpha != 1) return std::nullopt;
  weighted.transposed = attributes.trans_b;
  if (!HasInput(node, 2)) return weighted;
  if (node.since_version < 7 || attributes.beta != 1) return std::nullopt;
  if (IsBias(graph, node.inputs[2], 2, weights[weighted.transposed ? 0 : 1])) {
    weighted.bias = node.inputs[2];
  } else if (SameShape(graph, node.inputs[2], weighted.result)) {
    weighted.residual = node.inputs[2];
  } else {
    return std::nullopt;
  }
  return weighted;
}

class LinearFusion final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    auto weighted = MatMulOf(graph, graph.node(index));
    if (!weighted || ElementOf(graph, weighted->result) != ElementType::kFloat) return false;
    while (!weighted->activation && Absorb(graph, *weighted)) {
    }
    const auto lowers = [&](NodeIndex node) { return context.Lowers(graph.node(node)); };
    const ValueIndex wide = graph.node(index).inputs[1];
    if ((weighted->nodes.size() == 1 && wide == weighted->w) ||
        !std::all_of(weighted->nodes.begin(), weighted->nodes.end(), lowers))
      return false;
    Node linear;
    linear.domain = kTesseraDomain;
    linear.op_type = "Linear";
    linear.name = graph.node(index).name;
    linear.since_version = 1;
    linear.inputs = {weighted->x, weighted->w, weighted->bias, weighted->residual};
    while (linear.inputs.back() == kNone) linear.inputs.pop_back();
    linear.outputs = {weighted->result};
    if (weighted->transposed) SetAttribute(linear, "transB", int64_t{1});
    if (weighted->activation) cpu::SetActivation(linear, *weighted->activation);
    if (!MayFuse(graph, linear, context)) return false;
    // What is added may be computed later than the MatMul.
    const NodeIndex before = weighted->nodes.back();
    for (const NodeIndex gone : weighted->nodes) graph.RemoveNode(gone);
    graph.AddNode(std::move(linear), before);
    if (wide != weighted->w && graph.value(wide).consumers.empty()) graph.RemoveNode(graph.value(wide).producer);
    return true;
  }

 private:
  /// Fuses the only reader of the result, if it can be.
  static bool Absorb(const Graph& graph, WeightedSum& weighted) {
    const Node* reader = OnlyReader(graph, weighted.result);
    if (reader == nullptr || !HasOneOutput(*reader) || ElementOf(graph, reader->outputs[0]) != ElementType::kFloat)
      return false;
    if (reader->inputs[0] == weighted.result) weighted.activation = ActivationInRegisters(graph, *reader);
    if (!weighted.activation && !AbsorbAddition(graph, *reader, weighted)) return false;
    weighted.nodes.push_back(reader->index);
    weighted.result = reader->outputs[0];
    return true;
  }

  static bool AbsorbAddition(const Graph& graph, const Node& add, WeightedSum& weighted) {
    if (!IsOp(add, "Add") || add.since_version < 7) return false;
    const ValueIndex other = OtherInput(add, weighted.result);
    if (other == kNone || other == weighted.result) return false;
    const SymbolicShape& shape = *ShapeOf(graph, weighted.result);
    const Shape& weights = graph.constant(weighted.w)->shape();
    if (weighted.bias == kNone && IsBias(graph, other, shape.size(), weights[weighted.transposed ? 0 : 1])) {
      weighted.bias = other;
    } else if (weighted.residual == kNone && SameShape(graph, other, weighted.result)) {
      weighted.residual = other;
    } else {
      return false;
    }
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> FuseLinear() { return std::make_unique<LinearFusion>(); }

}  // namespace tessera
