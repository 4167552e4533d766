// fold_repeated_kv_heads: keys and values that Unsqueeze, Expand and Reshape repeat for each head of a group of query heads
// are read as they are: Attention shares them itself.

#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// [batch, heads, rows, width] before each head was repeated.
struct Repetition {
  ValueIndex source = kNone;
  int64_t times = 1;
};

/// Adds a dimension of 1 behind the heads.
bool InsertsOne(const Graph& graph, const Node& node) {
  const SymbolicShape* from = ShapeOf(graph, node.inputs[0]);
  if (!IsOp(node, "Unsqueeze") || from == nullptr || from->size() != 4) return false;
  const auto axes = AxesOf(graph, node);
  return axes && axes->size() == 1 && ((*axes)[0] == 2 || (*axes)[0] == -3);
}

/// How many times Expand repeats dimension 2 of five; nothing where others may grow, too.
std::optional<int64_t> TimesOf(const Graph& graph, const Node& node) {
  const auto shape = node.inputs.size() == 2 ? Integers(ConstantInput(graph, node, 1)) : std::nullopt;
  const SymbolicShape* from = ShapeOf(graph, node.inputs[0]);
  if (!shape || from == nullptr || from->size() != 5 || shape->empty() || shape->size() > 5) return std::nullopt;
  int64_t times = 1;
  for (size_t i = 0; i < shape->size(); ++i) {
    const int64_t size = (*shape)[i];
    const size_t axis = 5 - shape->size() + i;
    if (axis == 2) {
      times = size;
    } else if (size != 1 && (*from)[axis].value != size) {
      return std::nullopt;
    }
  }
  return times > 0 ? std::optional(times) : std::nullopt;
}

/// A Reshape to what is known to be the source's dimensions but for the heads.
bool JoinsHeads(const Graph& graph, const Node& reshape, ValueIndex source, int64_t times) {
  const SymbolicShape *from = ShapeOf(graph, source), *to = ShapeOf(graph, reshape.outputs[0]);
  if (from == nullptr || to == nullptr || from->size() != 4 || to->size() != 4) return false;
  const Dimension &heads = (*from)[1], &joined = (*to)[1];
  if (!heads.known() || !joined.known() || heads.value == 0 || joined.value % heads.value != 0 ||
      joined.value / heads.value != times) {
    return false;
  }
  // Reshape keeps the number of elements: what the others leave for one dimension is what it was.
  int differ = 0;
  for (const size_t i : {size_t{0}, size_t{2}, size_t{3}}) differ += SameDimension((*from)[i], (*to)[i]) ? 0 : 1;
  return differ <= 1;
}

std::optional<Repetition> RepetitionOf(const Graph& graph, const Node& attention, size_t input) {
  const Node* reshape = Producer(graph, attention, input);
  if (reshape == nullptr || !IsOp(*reshape, "Reshape")) return std::nullopt;
  const Node* expand = Producer(graph, *reshape, 0);
  if (expand == nullptr || !IsOp(*expand, "Expand")) return std::nullopt;
  const Node* insert = Producer(graph, *expand, 0);
  if (insert == nullptr || !HasInput(*insert, 0) || !InsertsOne(graph, *insert)) return std::nullopt;
  const auto times = TimesOf(graph, *expand);
  const ValueIndex source = insert->inputs[0];
  if (!times || *times == 1 || !JoinsHeads(graph, *reshape, source, *times)) return std::nullopt;
  return Repetition{source, *times};
}

class HeadSharing final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    const Node& node = graph.node(index);
    if (!IsAttention(node) || node.inputs.size() < 3) return false;
    // With a past its heads would be others; so would those of the keys and values given back.
    for (const size_t i : {size_t{4}, size_t{5}}) {
      if (HasInput(node, i)) return false;
    }
    for (const size_t i : {size_t{1}, size_t{2}}) {
      if (i < node.outputs.size() && node.outputs[i] != kNone) return false;
    }
    const SymbolicShape* q = ShapeOf(graph, node.inputs[0]);
    const auto keys = RepetitionOf(graph, node, 1), values = RepetitionOf(graph, node, 2);
    if (!keys || !values || keys->times != values->times || q == nullptr || q->size() != 4) return false;
    const Dimension& heads = (*ShapeOf(graph, keys->source))[1];
    if (!(*q)[1].known() || (*q)[1].value % heads.value != 0) return false;
    graph.SetInput(index, 1, keys->source);
    graph.SetInput(index, 2, values->source);
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> FoldRepeatedKvHeads() { return std::make_unique<HeadSharing>(); }

}  // namespace tessera
