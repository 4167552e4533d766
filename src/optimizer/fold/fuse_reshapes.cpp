// fuse_reshapes: of a chain of Reshape, Flatten, Squeeze and Unsqueeze the last one reads what the first one read, or
// nothing is left where the shape is the same again. A link that might fail stays.

#include <algorithm>
#include <map>
#include <set>

#include "ops/movement/flatten.h"
#include "ops/movement/reshape.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

bool IsReshaping(const Node& node) {
  static const std::set<std::string_view> ops = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"};
  return node.domain.empty() && ops.contains(node.op_type) && HasOneOutput(node) && HasInput(node, 0);
}

/// Of a shape: the product of the known dimensions, and the names of the others.
struct Size {
  int64_t known = 1;
  std::multiset<std::string> names;
  bool valid = true;

  void Add(const Dimension& dim) {
    if (dim.known()) {
      valid &= !__builtin_mul_overflow(known, dim.value, &known);
    } else {
      valid &= !dim.symbol.empty();
      names.insert(dim.symbol);
    }
  }
};

/// With this constant target no tensor of this shape makes Reshape fail. An empty one may: -1 then has no meaning.
bool AlwaysFits(const SymbolicShape& from, const std::vector<int64_t>& target, bool zero_copies) {
  Size left;  // what zeros do not copy
  int64_t wanted = 1;
  bool infers = false;
  for (size_t i = 0; i < std::max(from.size(), target.size()); ++i) {
    const bool copied = i < target.size() && target[i] == 0 && zero_copies;
    if (copied && i >= from.size()) return false;
    if (!copied && i < from.size()) left.Add(from[i]);
    if (copied || i >= target.size()) continue;
    if (target[i] == -1) {
      if (std::exchange(infers, true)) return false;
    } else if (target[i] < 0 || __builtin_mul_overflow(wanted, target[i], &wanted)) {
      return false;
    }
  }
  if (!left.valid) return false;
  return infers ? wanted > 0 && left.known % wanted == 0 : left.names.empty() && left.known == wanted;
}

/// The dimensions that a Squeeze removes or an Unsqueeze adds, when they are given and inside the tensor.
std::optional<std::set<int64_t>> ChangedAxes(const Graph& graph, const Node& node) {
  const SymbolicShape* from = ShapeOf(graph, node.inputs[0]);
  const auto axes = AxesOf(graph, node);
  if (from == nullptr || !axes) return std::nullopt;
  const auto bound = static_cast<int64_t>(from->size() + (node.op_type == "Unsqueeze" ? axes->size() : 0));
  std::set<int64_t> seen;
  for (int64_t axis : *axes) {
    if (axis < 0) axis += bound;
    if (axis < 0 || axis >= bound || !seen.insert(axis).second) return std::nullopt;
  }
  return seen;
}

/// No input of this node's static type makes it fail.
bool CannotFail(const Graph& graph, const Node& node) {
  const SymbolicShape *from = ShapeOf(graph, node.inputs[0]), *to = ShapeOf(graph, node.outputs[0]);
  if (from == nullptr || to == nullptr) return false;
  if (node.op_type == "Reshape") {
    const auto target = TargetOf(graph, node);
    return target && AlwaysFits(*from, *target, !ReshapeAttributes(node).allow_zero);
  }
  if (node.op_type == "Flatten") return FlattenAttributes(node).Fits(from->size()) && to->size() == 2;
  const auto axes = ChangedAxes(graph, node);
  return axes && (node.op_type == "Unsqueeze" || std::all_of(axes->begin(), axes->end(), [&](int64_t axis) {
                    return (*from)[static_cast<size_t>(axis)] == Dimension{1, {}};
                  }));
}

/// Squeeze and Unsqueeze, in either order, of the same dimensions.
bool Undo(const Graph& graph, const Node& first, const Node& second) {
  const bool pair = (first.op_type == "Squeeze" && second.op_type == "Unsqueeze") ||
                    (first.op_type == "Unsqueeze" && second.op_type == "Squeeze");
  if (!pair) return false;
  const auto a = ChangedAxes(graph, first), b = ChangedAxes(graph, second);
  return a && b && *a == *b;
}

class ReshapeFusion final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    const Node& node = graph.node(index);
    if (!IsReshaping(node)) return false;
    const Node* first = Producer(graph, node, 0);
    if (first == nullptr || !IsReshaping(*first) || !CannotFail(graph, *first)) return false;
    const ValueIndex source = first->inputs[0], output = node.outputs[0];
    const bool same = Undo(graph, *first, node) || (SameShape(graph, source, output) && CannotFail(graph, node));
    if (same && BypassNode(graph, index, source)) return true;
    if (node.op_type == "Reshape" && TargetStandsAlone(graph, node)) {
      graph.SetInput(index, 0, source);
      return true;
    }
    return CannotFail(graph, node) && ReshapeTo(graph, index, source);
  }

 private:
  /// The target does not look at the input's dimensions.
  static bool TargetStandsAlone(const Graph& graph, const Node& node) {
    const auto target = TargetOf(graph, node);
    return target && std::find(target->begin(), target->end(), 0) == target->end();
  }

  /// Makes the node a Reshape of `source` to its static shape, at most one dimension of which is not known.
  static bool ReshapeTo(Graph& graph, NodeIndex index, ValueIndex source) {
    const int version = VersionOf(graph, "Reshape");
    if (version < 5) return false;
    const SymbolicShape& shape = *ShapeOf(graph, graph.node(index).outputs[0]);
    Tensor target(ElementType::kInt64, Shape{static_cast<int64_t>(shape.size())});
    bool inferred = false;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i].known() ? shape[i].value == 0 : std::exchange(inferred, true)) return false;
      target.mutable_data<int64_t>()[i] = shape[i].known() ? shape[i].value : -1;
    }
    const ValueIndex constant = graph.AddConstant("", std::move(target));
    Node reshape = graph.node(index);
    reshape.op_type = "Reshape";
    reshape.since_version = version;
    reshape.inputs = {source, constant};
    reshape.attributes.clear();
    graph.RemoveNode(index);
    graph.AddNode(std::move(reshape), index);
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> FuseReshapes() { return std::make_unique<ReshapeFusion>(); }

}  // namespace tessera
