// fold_qkv_layout_into_attention: queries, keys and values that are parts of the rows of one MatMul (Gather of a Reshape
// that separates them) are read there by the CPU provider's Attention, without copies.

#include <array>

#include "cpu/lowering/lowering.h"
#include "graph/private_names.h"
#include "ops/movement/gather.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/scalar.h"

namespace tessera {
namespace {

/// Columns of [batch, rows, columns].
struct Columns {
  ValueIndex source = kNone;
  int64_t first = 0, end = 0;
};

/// Reshape to [batch, rows, parts, heads, width] of [batch, rows, columns]: its input.
std::optional<ValueIndex> SourceOfParts(const Graph& graph, const Node& reshape) {
  if (!IsOp(reshape, "Reshape") || !HasInput(reshape, 0)) return std::nullopt;
  const SymbolicShape *from = ShapeOf(graph, reshape.inputs[0]), *to = ShapeOf(graph, reshape.outputs[0]);
  if (from == nullptr || to == nullptr || from->size() != 3 || to->size() != 5) return std::nullopt;
  if (!SameDimension((*from)[0], (*to)[0]) || !SameDimension((*from)[1], (*to)[1]) || !(*from)[2].known())
    return std::nullopt;
  int64_t columns = 1;
  for (size_t i = 2; i < 5; ++i) {
    if (!(*to)[i].known() || __builtin_mul_overflow(columns, (*to)[i].value, &columns)) return std::nullopt;
  }
  return columns == (*from)[2].value ? std::optional(reshape.inputs[0]) : std::nullopt;
}

/// A value that Attention reads as [batch, rows, heads * width], found in a wider one.
std::optional<Columns> ColumnsOf(const Graph& graph, const Node& attention, size_t input) {
  const Node* pack = Producer(graph, attention, input);
  const SymbolicShape* packed = ShapeOf(graph, attention.inputs[input]);
  if (pack == nullptr || packed == nullptr || packed->size() != 3 || !IsOp(*pack, "Reshape")) return std::nullopt;
  const Node* gather = Producer(graph, *pack, 0);
  if (gather == nullptr || !IsOp(*gather, "Gather") || GatherAttributes(*gather).axis != 2) return std::nullopt;
  const Tensor* constant = ConstantInput(graph, *gather, 1);
  const auto index = Integers(constant);
  const Node* reshape = Producer(graph, *gather, 0);
  if (!index || constant->shape().rank() != 0 || reshape == nullptr) return std::nullopt;
  const auto source = SourceOfParts(graph, *reshape);
  if (!source) return std::nullopt;
  const SymbolicShape &parts = *ShapeOf(graph, reshape->outputs[0]), &shape = *ShapeOf(graph, *source);
  const int64_t part = (*index)[0] < 0 ? (*index)[0] + parts[2].value : (*index)[0],
                width = parts[3].value * parts[4].value;
  const bool fits =
      SameDimension((*packed)[0], shape[0]) && SameDimension((*packed)[1], shape[1]) && (*packed)[2].value == width;
  if (!fits || part < 0 || part >= parts[2].value) return std::nullopt;
  return Columns{*source, part * width, (part + 1) * width};
}

class AttendingInPlace final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& node = graph.node(index);
    if (!IsAttention(node) || node.inputs.size() < 3 || !HasOneOutput(node)) return false;
    if (HasInput(node, 4) || HasInput(node, 5) || node.FindAttribute("columns") != nullptr) return false;
    std::array<Columns, 3> columns;
    bool found = false;
    for (size_t i = 0; i < 3; ++i) {
      const SymbolicShape* shape = ShapeOf(graph, node.inputs[i]);
      if (shape == nullptr || shape->size() != 3 || !(*shape)[2].known()) return false;
      if (ElementOf(graph, node.inputs[i]) != ElementType::kFloat) return false;  // others are converted as a whole
      const auto wider = ColumnsOf(graph, node, i);
      columns[i] = wider.value_or(Columns{node.inputs[i], 0, (*shape)[2].value});
      found |= wider.has_value();
    }
    if (!found || !context.Lowers(graph.node(index))) return false;
    std::vector<int64_t> ranges;
    for (size_t i = 0; i < 3; ++i) {
      ranges.insert(ranges.end(), {columns[i].first, columns[i].end});
      ReadFrom(graph, index, i, columns[i].source);
    }
    Node& attention = graph.node(index);
    attention.domain = kTesseraDomain;
    attention.since_version = 1;
    SetAttribute(attention, "columns", ranges);
    return true;
  }

 private:
  /// Lets the node read the source, and removes what read it before: dead nodes are removed before the last passes run.
  static void ReadFrom(Graph& graph, NodeIndex index, size_t input, ValueIndex source) {
    std::array<NodeIndex, 3> copying = {kNone, kNone, kNone};  // Reshape, Gather, Reshape
    ValueIndex value = graph.node(index).inputs[input];
    if (value == source) return;
    for (NodeIndex& producer : copying) {
      producer = graph.value(value).producer;
      value = graph.node(producer).inputs[0];
    }
    graph.SetInput(index, input, source);
    for (const NodeIndex producer : copying) {
      if (graph.has_node(producer)) RemoveUnread(graph, producer);
    }
  }
};

}  // namespace

std::unique_ptr<Rewrite> FoldQkvLayoutIntoAttention() { return std::make_unique<AttendingInPlace>(); }

}  // namespace tessera
