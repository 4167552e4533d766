// fold_shapes: arithmetic on shapes whose result is known before the run becomes a constant, though the tensors whose shapes
// it reads are not known.

#include <unordered_map>

#include "graph/shape_values.h"
#include "optimizer/edit.h"
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

class ShapeFolding final : public Rewrite {
 public:
  size_t Run(Graph& graph, RewriteContext&) override {
    const auto outer = values_.find(graph.parent());
    auto& values = values_[&graph];
    values = std::make_unique<ShapeValues>(graph, outer == values_.end() ? nullptr : outer->second.get());
    const std::vector<NodeIndex> order = graph.TopologicalOrder();
    size_t changes = 0;
    for (const NodeIndex index : order) {
      const Node& node = graph.node(index);
      values->Propagate(node);
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
  static std::optional<Tensor> Known(const Graph& graph, ValueIndex output, const ShapeValue& elements) {
    const auto shape = StaticShapeOf(graph, output);
    if (!shape || shape->num_elements() != static_cast<int64_t>(elements.size())) return std::nullopt;
    for (const ShapeElement& element : elements) {
      if (!element.known) return std::nullopt;
    }
    switch (ElementOf(graph, output)) {
      case ElementType::kInt64:
        return TensorOf<int64_t>(*shape, elements);
      case ElementType::kInt32:
        return TensorOf<int32_t>(*shape, elements);
      case ElementType::kBool:
        return TensorOf<bool>(*shape, elements);
      default:
        return std::nullopt;
    }
  }

  /// Of each graph as it was when it was last looked at; enclosing graphs come first.
  std::unordered_map<const Graph*, std::unique_ptr<ShapeValues>> values_;
};

}  // namespace

std::unique_ptr<Rewrite> FoldShapes() { return std::make_unique<ShapeFolding>(); }

}  // namespace tessera
