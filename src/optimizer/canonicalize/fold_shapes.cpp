// fold_shapes: arithmetic on shapes whose result is known before the run becomes a constant, though the tensors whose
// shapes it reads are not known. So does the target of a Reshape of which the unknown dimensions are the input's own.

#include <algorithm>
#include <unordered_map>

#include "base/load_limits.h"
#include "graph/shape_values.h"
#include "ops/movement/reshape.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

template <class T>
Tensor TensorOf(const Shape& shape, const ShapeValue& elements) {
  Tensor tensor(ElementTypeOf<T>, shape);
  T* to = tensor.mutable_data<T>();
  for (const ShapeElement& element : elements) *to++ = static_cast<T>(element.value);
  return tensor;
}

/// The value of a name, or of the product of two, as ShapeValues spells them; "" for more.
std::string NameOf(std::vector<std::string> names) {
  if (names.size() == 1) return names[0];
  if (names.size() != 2) return "";
  std::sort(names.begin(), names.end());
  return "(" + names[0] + "*" + names[1] + ")";
}

/// Whether all that `from` has is a named value of the target and its known ones, so that -1 instead of that value is the
/// same.
bool IsRest(const SymbolicShape& from, const ShapeValue& target, const std::string& name) {
  int64_t have = 1, want = 1;
  std::vector<std::string> names;
  for (const Dimension& dim : from) {
    if (!dim.known()) names.push_back(dim.symbol);
    else if (__builtin_mul_overflow(have, dim.value, &have)) return false;
  }
  for (const ShapeElement& element : target) {
    if (element.known && (element.value <= 0 || __builtin_mul_overflow(want, element.value, &want))) return false;
  }
  return have == want && NameOf(std::move(names)) == name;
}

/// A target that Reshape reads as these elements: 0 copies a dimension, -1 is what is left.
std::optional<Tensor> TargetOf(const SymbolicShape& from, const ShapeValue& target) {
  const auto size = static_cast<int64_t>(target.size());
  Tensor constant(ElementType::kInt64, Shape{size});
  int64_t* to = constant.mutable_data<int64_t>();
  size_t copied = 0;
  const ShapeElement* rest = nullptr;
  for (size_t i = 0; i < target.size(); ++i) {
    const ShapeElement& element = target[i];
    if (!element.known && element.symbol.empty()) return std::nullopt;
    to[i] = element.value;
    if (element.known) continue;
    if (i < from.size() && !from[i].known() && from[i].symbol == element.symbol) {
      to[i] = 0;
      ++copied;
    } else if (rest == nullptr) {
      to[i] = -1;
      rest = &element;
    } else {
      return std::nullopt;
    }
  }
  // Beside copied dimensions, which may be 0, -1 would have no meaning.
  if (rest != nullptr && (copied > 0 || !IsRest(from, target, rest->symbol))) return std::nullopt;
  return constant;
}

class ShapeFolding final : public Rewrite {
 public:
  size_t Run(Graph& graph, RewriteContext&) override {
    const auto outer = values_.find(graph.parent());
    auto& values = values_[&graph];
    values = std::make_unique<ShapeValues>(graph, outer == values_.end() ? nullptr : outer->second.get());
    const std::vector<NodeIndex> order = graph.TopologicalOrder();
    size_t changes = 0;
    for (const NodeIndex index : order) {
      graph.limits().Check();
      const Node& node = graph.node(index);
      values->Propagate(node);
      changes += FixTarget(graph, node, *values);
      if (node.outputs.size() != 1 || node.outputs[0] == kNone) continue;
      const ValueIndex output = node.outputs[0];
      const ShapeValue* elements = values->Find(output);
      const auto tensor = elements == nullptr ? std::nullopt : Known(graph, output, *elements);
      if (!tensor) continue;
      ReplaceByConstants(graph, index, std::span(&*tensor, 1));
      ++changes;
    }
    return changes;
  }

 private:
  static bool FixTarget(Graph& graph, const Node& node, ShapeValues& values) {
    if (!IsOp(node, "Reshape") || node.inputs.size() != 2 || ReshapeAttributes(node).allow_zero) return false;
    const ValueIndex target = node.inputs[1];
    const SymbolicShape* from = HasInput(node, 0) ? ShapeOf(graph, node.inputs[0]) : nullptr;
    const ShapeValue* elements = graph.constant(target) != nullptr ? nullptr : values.Find(target);
    const SymbolicShape* shape = ShapeOf(graph, target);
    if (from == nullptr || elements == nullptr || shape == nullptr || shape->size() != 1) return false;
    auto constant = TargetOf(*from, *elements);
    if (!constant) return false;
    graph.SetInput(node.index, 1, graph.AddConstant("", std::move(*constant)));
    return true;
  }

  static std::optional<Tensor> Known(const Graph& graph, ValueIndex output, const ShapeValue& elements) {
    const auto shape = StaticShapeOf(graph, output);
    if (!shape || shape->num_elements() != static_cast<int64_t>(elements.size())) return std::nullopt;
    for (const ShapeElement& element : elements) {
      if (!element.known) return std::nullopt;
    }
    switch (ElementOf(graph, output)) {
      case ElementType::kInt64: return TensorOf<int64_t>(*shape, elements);
      case ElementType::kInt32: return TensorOf<int32_t>(*shape, elements);
      case ElementType::kBool: return TensorOf<bool>(*shape, elements);
      default: return std::nullopt;
    }
  }

  /// Of each graph as it was when it was last looked at; enclosing graphs come first.
  std::unordered_map<const Graph*, std::unique_ptr<ShapeValues>> values_;
};

}  // namespace

std::unique_ptr<Rewrite> FoldShapes() { return std::make_unique<ShapeFolding>(); }

}  // namespace tessera
