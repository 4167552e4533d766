#include "optimizer/analysis/scalar.h"

#include <cmath>

#include "optimizer/analysis/edit.h"
#include "tessera/numeric.h"

namespace tessera {

std::optional<double> ScalarOf(const Tensor* tensor) {
  if (tensor == nullptr || tensor->num_elements() != 1) return std::nullopt;
  switch (tensor->type()) {
    case ElementType::kFloat: return *tensor->data<float>();
    case ElementType::kDouble: return *tensor->data<double>();
    case ElementType::kFloat16: return static_cast<float>(*tensor->data<Float16>());
    case ElementType::kBFloat16: return static_cast<float>(*tensor->data<BFloat16>());
    default: return std::nullopt;
  }
}

std::optional<double> NumberBeside(const Graph& graph, const Node& node, size_t i) {
  const Tensor* constant = ConstantInput(graph, node, i);
  const auto number = ScalarOf(constant);
  if (!number || node.inputs.size() != 2 || !HasInput(node, 1 - i)) return std::nullopt;
  const SymbolicShape* other = ShapeOf(graph, node.inputs[1 - i]);
  const bool keeps_shape = constant->shape().rank() == 0 || (other != nullptr && constant->shape().rank() <= other->size());
  return keeps_shape ? number : std::nullopt;
}

std::optional<ValueIndex> OperandBeside(const Graph& graph, const Node& node, std::string_view op_type, double value) {
  if (!IsOp(node, op_type) || node.inputs.size() != 2 || node.since_version < 7) return std::nullopt;
  const bool commutes = op_type == "Add" || op_type == "Mul";
  for (const size_t i : {size_t{1}, size_t{0}}) {
    const auto number = NumberBeside(graph, node, i);
    if (!number || (i == 0 && !commutes)) continue;
    const ElementType type = ElementOf(graph, node.inputs[i]);
    const double tolerance = type == ElementType::kBFloat16 ? 4e-3 : type == ElementType::kFloat16 ? 1e-3 : 1e-6;
    if (std::abs(*number - value) <= tolerance * std::abs(value)) return node.inputs[1 - i];
  }
  return std::nullopt;
}

ValueIndex OtherInput(const Node& node, ValueIndex input) {
  if (node.inputs.size() != 2) return kNone;
  if (node.inputs[0] == input) return node.inputs[1];
  return node.inputs[1] == input ? node.inputs[0] : kNone;
}

const Node* OnlyReader(const Graph& graph, ValueIndex index) {
  return HasOneReader(graph, index) ? &graph.node(graph.value(index).consumers[0]) : nullptr;
}

}  // namespace tessera
