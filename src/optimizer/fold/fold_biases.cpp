// fold_biases: Add (and Sub) of a constant after Conv, ConvTranspose and Gemm becomes their bias; MatMul and Add of
// matrices become Gemm.

#include <algorithm>

#include "optimizer/analysis/channels.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

bool IsFloatingPoint(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kDouble || type == ElementType::kFloat16 ||
         type == ElementType::kBFloat16;
}

/// `added` broadcasts to the matrix, and never the other way.
bool FitsMatrix(const SymbolicShape* matrix, const SymbolicShape* added) {
  if (matrix == nullptr || matrix->size() != 2 || added == nullptr || added->size() > 2) return false;
  const size_t offset = 2 - added->size();
  for (size_t i = 0; i < added->size(); ++i) {
    const Dimension& dim = (*added)[i];
    if (!(dim.known() && dim.value == 1) && !SameDimension(dim, (*matrix)[i + offset])) return false;
  }
  return true;
}

class BiasFolding final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    const Node& node = graph.node(index);
    const bool subtracts = IsOp(node, "Sub");
    if ((!subtracts && !IsOp(node, "Add")) || node.since_version < 7) return false;
    if (!IsFloatingPoint(ElementOf(graph, node.outputs[0]))) return false;
    for (const size_t input : {size_t{0}, size_t{1}}) {
      if (subtracts && input == 1) break;
      if (FoldConstant(graph, index, input) || (!subtracts && FoldMatrix(graph, index, input))) return true;
    }
    return false;
  }

 private:
  static bool FoldConstant(Graph& graph, NodeIndex index, size_t input) {
    const Node& node = graph.node(index);
    const bool subtracts = node.op_type == "Sub";
    const ValueIndex replaced = node.inputs[input];
    const auto layer = ConvOrGemmOf(graph, replaced);
    const Tensor* added = ConstantInput(graph, node, 1 - input);
    auto spread = layer && added != nullptr ? PerChannel(*added, *layer) : std::nullopt;
    if (!spread) return false;
    const Node& source = graph.node(layer->node);
    if (HasInput(source, 2) || subtracts) {
      auto bias = BiasOf(graph, *layer, spread->type());
      const auto values = ToDoubles(*spread);
      if (!bias || !values) return false;
      for (size_t c = 0; c < bias->size(); ++c) (*bias)[c] += subtracts ? -(*values)[c] : (*values)[c];
      spread = FromDoubles(spread->type(), spread->shape(), *bias);
      if (!AllFinite(*spread)) return false;
    }
    if (!BypassNode(graph, index, replaced)) return false;
    SetBias(graph, *layer, std::move(*spread));
    return true;
  }

  /// A MatMul of matrices, or a Gemm without C, accepts any bias of the right shape.
  static bool FoldMatrix(Graph& graph, NodeIndex index, size_t input) {
    const Node& node = graph.node(index);
    const ValueIndex replaced = node.inputs[input], added = node.inputs[1 - input];
    const NodeIndex producer = graph.value(replaced).producer;
    if (producer == kNone || !HasOneReader(graph, replaced) ||
        !FitsMatrix(ShapeOf(graph, replaced), ShapeOf(graph, added))) {
      return false;
    }
    Node& source = graph.node(producer);
    const bool is_gemm = IsOp(source, "Gemm") && source.since_version >= 11 && !HasInput(source, 2);
    const int version = VersionOf(graph, "Gemm");
    if (!is_gemm) {
      const bool bfloat16 = ElementOf(graph, added) == ElementType::kBFloat16;
      if (!IsOp(source, "MatMul") || version < (bfloat16 ? 13 : 7)) return false;
      for (const ValueIndex operand : source.inputs) {
        if (ShapeOf(graph, operand) == nullptr || ShapeOf(graph, operand)->size() != 2) return false;
      }
    }
    // The bias may be computed later than the MatMul.
    Node gemm = source;
    gemm.op_type = "Gemm";
    if (!is_gemm) gemm.since_version = version;
    gemm.inputs.resize(2);
    gemm.inputs.push_back(added);
    gemm.outputs = {node.outputs[0]};
    SetAttribute(gemm, "beta", 1.0f);
    graph.RemoveNode(index);
    graph.RemoveNode(producer);
    graph.AddNode(std::move(gemm), index);
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> FoldBiases() { return std::make_unique<BiasFolding>(); }

}  // namespace tessera
