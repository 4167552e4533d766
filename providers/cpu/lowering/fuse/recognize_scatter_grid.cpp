// recognize_scatter_grid: ScatterND at all combinations of an index of each axis, as PyTorch exports an assignment to a
// slice, becomes ScatterGrid (ai.tessera), which reads a vector of each axis instead of the combinations and copies whole
// rows. Where it is left to the CPU provider, which has the operator.

#include <algorithm>

#include "cpu/lowering/lowering.h"
#include "graph/private_names.h"
#include "lowering/fused_kernels.h"
#include "ops/movement/concat.h"
#include "ops/movement/scatter.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/edit.h"

namespace tessera {
namespace {

/// The indices of each axis, as values that broadcast to the combinations or as constants.
struct Grid {
  std::vector<ValueIndex> values;
  std::vector<std::vector<int64_t>> constants;
  size_t depth() const { return values.size() + constants.size(); }
};

/// A sum of some of `values`.
bool IsSumOf(const Graph& graph, ValueIndex sum, const std::vector<ValueIndex>& values, int most = 64) {
  if (std::ranges::find(values, sum) != values.end()) return true;
  const Node* add = Producer(graph, sum);
  return most > 0 && add != nullptr && IsOp(*add, "Add") && add->since_version >= 7 &&
         IsSumOf(graph, add->inputs[0], values, most - 1) && IsSumOf(graph, add->inputs[1], values, most - 1);
}

/// `shape` is the shape of a sum of some of `values`: expanding to it makes none larger than all of them together.
bool IsCommonShape(const Graph& graph, ValueIndex shape, const std::vector<ValueIndex>& values) {
  const Node* node = Producer(graph, shape);
  return node != nullptr && IsOp(*node, "Shape") && node->attributes.empty() &&
         StaticShapeOf(graph, shape) == Shape{static_cast<int64_t>(values.size())} &&
         IsSumOf(graph, node->inputs[0], values);
}

/// All dimensions of the value, of at most `depth`, are 1 but that of `axis` of `depth`.
bool LiesAlong(const Graph& graph, ValueIndex value, size_t axis, size_t depth) {
  const SymbolicShape* shape = ShapeOf(graph, value);
  if (shape == nullptr || shape->size() > depth) return false;
  for (size_t i = 0; i < shape->size(); ++i) {
    const Dimension& dim = (*shape)[i];
    if (i + depth - shape->size() != axis && !(dim.known() && dim.value == 1)) return false;
  }
  return true;
}

/// Concat(Unsqueeze(Expand(vector of an axis, common shape), -1), ...)
std::optional<Grid> ComputedGrid(const Graph& graph, ValueIndex tuples) {
  const Node* concat = Producer(graph, tuples);
  const SymbolicShape* shape = ShapeOf(graph, tuples);
  if (concat == nullptr || !IsOp(*concat, "Concat") || shape == nullptr || shape->size() != concat->inputs.size() + 1)
    return std::nullopt;
  const auto depth = static_cast<int64_t>(concat->inputs.size());
  const auto is_last = [&](int64_t axis) { return axis == -1 || axis == depth; };
  if (!is_last(ConcatAttributes(*concat).axis)) return std::nullopt;
  Grid grid;
  std::vector<ValueIndex> shapes;
  for (size_t i = 0; i < concat->inputs.size(); ++i) {
    const Node* unsqueeze = Producer(graph, *concat, i);
    if (unsqueeze == nullptr || !IsOp(*unsqueeze, "Unsqueeze")) return std::nullopt;
    const auto axes = AxesOf(graph, *unsqueeze);
    const Node* expand = Producer(graph, *unsqueeze, 0);
    if (!axes || axes->size() != 1 || !is_last(axes->front()) || expand == nullptr || !IsOp(*expand, "Expand"))
      return std::nullopt;
    if (!LiesAlong(graph, expand->inputs[0], i, concat->inputs.size())) return std::nullopt;
    grid.values.push_back(expand->inputs[0]);
    shapes.push_back(expand->inputs[1]);
  }
  const bool common = std::ranges::all_of(shapes, [&](ValueIndex to) { return IsCommonShape(graph, to, grid.values); });
  return common ? std::optional(std::move(grid)) : std::nullopt;
}

std::optional<Grid> ConstantGrid(const Tensor& tuples) {
  const Shape& shape = tuples.shape();
  if (!tuples.is(ElementType::kInt64) || shape.rank() < 2 || tuples.num_elements() == 0) return std::nullopt;
  const size_t depth = shape.rank() - 1;
  if (shape.back() != static_cast<int64_t>(depth)) return std::nullopt;
  const auto* index = tuples.unaligned_data<int64_t>();
  Grid grid;
  for (size_t axis = 0; axis < depth; ++axis) {
    const int64_t stride = shape.SizeOfRange(axis + 1, depth + 1);
    std::vector<int64_t>& along = grid.constants.emplace_back();
    for (int64_t i = 0; i < shape[axis]; ++i) along.push_back(index[i * stride + static_cast<int64_t>(axis)]);
  }
  std::vector<size_t> at(depth);
  for (int64_t i = 0; i < tuples.num_elements(); i += shape.back(), index += depth) {
    for (size_t axis = 0; axis < depth; ++axis) {
      if (index[axis] != grid.constants[axis][at[axis]]) return std::nullopt;
    }
    for (size_t axis = depth; axis-- > 0 && ++at[axis] == grid.constants[axis].size();) at[axis] = 0;
  }
  return grid;
}

class ScatterGridPass final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& scatter = graph.node(index);
    if (!IsOp(scatter, "ScatterND") || !HasOneOutput(scatter)) return false;
    const auto attributes = ValidAttributes<ScatterNDAttributes>(scatter);
    if (!attributes || attributes->reduction != ScatterReduction::kNone) return false;
    if (VersionOf(graph, "Reshape") < 5) return false;
    const Tensor* constant = ConstantInput(graph, scatter, 1);
    const auto grid = constant == nullptr ? ComputedGrid(graph, scatter.inputs[1]) : ConstantGrid(*constant);
    // A single axis has whole rows already.
    if (!grid || grid->depth() < 2) return false;
    Node fused = scatter;
    fused.domain = kTesseraDomain;
    fused.op_type = "ScatterGrid";
    fused.since_version = 1;
    fused.attributes.clear();
    const Node* reshape = Producer(graph, scatter, 2);
    const bool shaped = reshape != nullptr && IsOp(*reshape, "Reshape");
    fused.inputs = {scatter.inputs[0], shaped ? reshape->inputs[0] : scatter.inputs[2]};
    fused.inputs.insert(fused.inputs.end(), grid->depth(), scatter.inputs[1]);
    if (!MayFuse(graph, fused, context) || !context.Lowers(graph.node(index))) return false;
    for (size_t i = 0; i < grid->values.size(); ++i) fused.inputs[i + 2] = Flat(graph, grid->values[i], index);
    for (size_t i = 0; i < grid->constants.size(); ++i) fused.inputs[i + 2] = AddIntegers(graph, grid->constants[i]);
    graph.RemoveNode(index);
    graph.AddNode(std::move(fused), index);
    return true;
  }

 private:
  static ValueIndex Flat(Graph& graph, ValueIndex value, NodeIndex before) {
    const SymbolicShape& shape = *ShapeOf(graph, value);
    if (shape.size() == 1) return value;
    const auto along = std::ranges::find_if(shape, [](const Dimension& dim) { return !dim.known() || dim.value != 1; });
    const Dimension size = along == shape.end() ? Dimension{1} : *along;
    const ValueIndex flat = graph.AddValue("", TypeInfo::OfTensor(ElementType::kInt64, SymbolicShape{size}));
    AddOperator(graph, "Reshape", {value, AddIntegers(graph, std::vector<int64_t>{-1})}, flat, before);
    return flat;
  }
};

}  // namespace

std::unique_ptr<Rewrite> RecognizeScatterGrid() { return std::make_unique<ScatterGridPass>(); }

}  // namespace tessera
