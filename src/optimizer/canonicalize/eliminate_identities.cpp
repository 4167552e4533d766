// eliminate_identities: nodes whose output is their input, for every input that they accept, go: Identity, Dropout that
// does not train, Cast to the same type, Reshape, Flatten, Transpose, Slice, Pad, Expand and Tile that change nothing,
// operators of one input (Concat, Sum, Max), x + 0, x * 1, Where of a condition that is everywhere the same.

#include <algorithm>
#include <limits>
#include <map>

#include "ops/movement/flatten.h"
#include "ops/movement/reshape.h"
#include "ops/random/dropout.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/neutral_element.h"
#include "optimizer/analysis/slice_bounds.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

using Check = bool (*)(const Graph& graph, const Node& node);

bool Always(const Graph&, const Node&) { return true; }

bool HasOneInput(const Graph&, const Node& node) { return node.inputs.size() == 1; }

bool DropoutDoesNothing(const Graph& graph, const Node& node) {
  return !DropoutMayTrain(node, ConstantInput(graph, node, 2));
}

bool KeepsElementType(const Graph& graph, const Node& node) {
  const ElementType from = ElementOf(graph, node.inputs[0]);
  return from != ElementType::kUndefined && from == ElementOf(graph, node.outputs[0]);
}

bool ReshapeChangesNothing(const Graph& graph, const Node& node) {
  const SymbolicShape* from = ShapeOf(graph, node.inputs[0]);
  const auto target = TargetOf(graph, node);
  if (from == nullptr || !target || target->size() != from->size()) return false;
  const bool zero_copies = !ReshapeAttributes(node).allow_zero;
  bool inferred = false;  // one dimension is what the others leave
  for (size_t i = 0; i < from->size(); ++i) {
    const int64_t wanted = (*target)[i];
    const Dimension& dim = (*from)[i];
    if (wanted == -1 && !inferred) {
      inferred = true;
    } else if (!(wanted == 0 && zero_copies) && !(dim.known() && dim.value == wanted)) {
      return false;
    }
  }
  return true;
}

bool FlattenChangesNothing(const Graph& graph, const Node& node) {
  const SymbolicShape* from = ShapeOf(graph, node.inputs[0]);
  const int64_t axis = FlattenAttributes(node).axis;
  return from != nullptr && from->size() == 2 && (axis == 1 || axis == -1);
}

bool TransposeChangesNothing(const Graph& graph, const Node& node) {
  const auto perm = PermutationOf(graph, node);
  return perm && std::ranges::is_sorted(*perm);
}

bool SliceTakesAll(const Graph& graph, const Node& node) {
  const SymbolicShape* from = ShapeOf(graph, node.inputs[0]);
  const auto bounds = SliceBoundsOf(graph, node);
  if (from == nullptr || !bounds) return false;
  for (size_t i = 0; i < bounds->axes.size(); ++i) {
    const Dimension& dim = (*from)[static_cast<size_t>(bounds->axes[i])];
    const int64_t end = bounds->ends[i];
    const bool to_the_end = end == std::numeric_limits<int64_t>::max() || (dim.known() && end >= dim.value);
    if (bounds->starts[i] != 0 || bounds->steps[i] != 1 || !to_the_end) return false;
  }
  return true;
}

bool PadsNothing(const Graph& graph, const Node& node) {
  const SymbolicShape* from = ShapeOf(graph, node.inputs[0]);
  const auto pads = PadsOf(graph, node);
  if (from == nullptr || !pads || HasInput(node, 3)) return false;
  return pads->size() == 2 * from->size() && std::all_of(pads->begin(), pads->end(), [](int64_t pad) { return pad == 0; });
}

bool ExpandsNothing(const Graph& graph, const Node& node) {
  const SymbolicShape* from = ShapeOf(graph, node.inputs[0]);
  const auto target = Integers(ConstantInput(graph, node, 1));
  if (from == nullptr || !target || target->size() > from->size()) return false;
  const size_t offset = from->size() - target->size();
  for (size_t i = 0; i < target->size(); ++i) {
    const Dimension& dim = (*from)[offset + i];
    if ((*target)[i] != 1 && !(dim.known() && dim.value == (*target)[i])) return false;
  }
  return true;
}

bool TilesOnce(const Graph& graph, const Node& node) {
  const SymbolicShape* from = ShapeOf(graph, node.inputs[0]);
  const auto repeats = Integers(ConstantInput(graph, node, 1));
  if (from == nullptr || !repeats || node.since_version < 6) return false;
  return repeats->size() == from->size() && std::all_of(repeats->begin(), repeats->end(), [](int64_t n) { return n == 1; });
}

bool HasNoAxes(const Graph& graph, const Node& node) {
  const auto axes = AxesOf(graph, node);
  return axes && axes->empty();
}

bool HasNoBounds(const Graph&, const Node& node) {
  return node.since_version >= 11 && !HasInput(node, 1) && !HasInput(node, 2);
}

/// What passes its first input through, when the check says so.
const std::map<std::string_view, Check>& Checks() {
  static const std::map<std::string_view, Check> checks = {
      {"Identity", Always},
      {"Dropout", DropoutDoesNothing},
      {"Cast", KeepsElementType},
      {"CastLike", KeepsElementType},
      {"Reshape", ReshapeChangesNothing},
      {"Flatten", FlattenChangesNothing},
      {"Transpose", TransposeChangesNothing},
      {"Slice", SliceTakesAll},
      {"Pad", PadsNothing},
      {"Expand", ExpandsNothing},
      {"Tile", TilesOnce},
      {"Unsqueeze", HasNoAxes},
      {"Clip", HasNoBounds},
      {"Sum", HasOneInput},
      {"Max", HasOneInput},
      {"Min", HasOneInput},
      {"Mean", HasOneInput},
  };
  return checks;
}

/// The input that a Where selects everywhere. All shapes must be known: another might not broadcast.
std::optional<size_t> InputTakenEverywhere(const Graph& graph, const Node& node) {
  const Tensor* condition = ConstantInput(graph, node, 0);
  if (condition == nullptr || !condition->is(ElementType::kBool) || condition->num_elements() == 0) return std::nullopt;
  if (!HasInput(node, 1) || !HasInput(node, 2) || !StaticShapeOf(graph, node.inputs[1]) ||
      !StaticShapeOf(graph, node.inputs[2]))
    return std::nullopt;
  const auto values = condition->values<bool>();
  if (std::ranges::find(values, !values.front()) != values.end()) return std::nullopt;
  const size_t taken = values.front() ? 1 : 2;
  return StaticShapeOf(graph, node.inputs[taken]) == StaticShapeOf(graph, node.outputs[0]) ? std::optional(taken)
                                                                                           : std::nullopt;
}

class IdentityElimination final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    const Node& node = graph.node(index);
    if (!node.domain.empty() || !HasOneOutputInUse(graph, node) || !HasInput(node, 0)) return false;
    const auto check = Checks().find(node.op_type);
    if (check != Checks().end()) return check->second(graph, node) && BypassNode(graph, index, node.inputs[0]);
    const auto kept = IsOp(node, "Where") ? InputTakenEverywhere(graph, node) : InputBesideNeutralElement(graph, node);
    return kept && BypassNode(graph, index, node.inputs[*kept]);
  }

 private:
  static bool HasOneOutputInUse(const Graph& graph, const Node& node) {
    if (node.outputs.empty() || node.outputs[0] == kNone) return false;
    return std::all_of(node.outputs.begin() + 1, node.outputs.end(), [&](ValueIndex output) {
      return output == kNone || (graph.value(output).consumers.empty() && !graph.value(output).is_output);
    });
  }
};

}  // namespace

std::unique_ptr<Rewrite> EliminateIdentities() { return std::make_unique<IdentityElimination>(); }

}  // namespace tessera
