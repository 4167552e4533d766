#include "optimizer/analysis/quantization.h"

#include <algorithm>
#include <cmath>

#include "ops/quantization/quantize_linear.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/tensor_contents.h"

namespace tessera {
namespace {

/// Everything but which side is which. The scale and zero point are inputs 1 and 2 of both operators.
std::optional<Quantization> Read(const Graph& graph, const Node& node, ValueIndex quantized, ValueIndex numbers) {
  Quantization result = {
      .node = node.index, .quantized = quantized, .numbers = numbers, .type = ElementOf(graph, quantized)};
  if (!IsByte(result.type) || ElementOf(graph, numbers) != ElementType::kFloat) return std::nullopt;
  const auto attributes = ValidAttributes<QuantizeLinearAttributes>(node);
  if (!attributes || attributes->block_size != 0) return std::nullopt;
  result.axis = attributes->axis;
  result.scales = ConstantInput(graph, node, 1);
  if (result.scales == nullptr || !result.scales->is(ElementType::kFloat) || result.scales->num_elements() == 0)
    return std::nullopt;
  const auto scales = result.scales->values<float>();
  if (!std::all_of(scales.begin(), scales.end(), [](float scale) { return scale > 0 && std::isnormal(scale); }))
    return std::nullopt;
  result.scale = node.inputs[1];
  if (!HasInput(node, 2)) return result;
  result.zeros = ConstantInput(graph, node, 2);
  if (result.zeros == nullptr || !result.zeros->is(result.type)) return std::nullopt;
  if (result.zeros->num_elements() != 1 && result.zeros->num_elements() != result.scales->num_elements())
    return std::nullopt;
  result.zero = node.inputs[2];
  return result;
}

}  // namespace

int Quantization::Zero(int64_t i) const {
  if (zeros == nullptr) return 0;
  if (zeros->num_elements() == 1) i = 0;
  return type == ElementType::kInt8 ? zeros->data<int8_t>()[i] : zeros->data<uint8_t>()[i];
}

bool IsByte(ElementType type) noexcept { return type == ElementType::kInt8 || type == ElementType::kUInt8; }

std::optional<Quantization> DequantizationOf(const Graph& graph, const Node& node) {
  if (!IsOp(node, "DequantizeLinear") || !HasInput(node, 0) || !HasInput(node, 1) || node.outputs.empty())
    return std::nullopt;
  return Read(graph, node, node.inputs[0], node.outputs[0]);
}

std::optional<Quantization> DequantizationOf(const Graph& graph, ValueIndex numbers) {
  if (numbers == kNone || graph.value(numbers).producer == kNone) return std::nullopt;
  return DequantizationOf(graph, graph.node(graph.value(numbers).producer));
}

std::optional<Quantization> PlainDequantizationOf(const Graph& graph, ValueIndex numbers) {
  auto result = DequantizationOf(graph, numbers);
  if (result && !result->per_tensor()) return std::nullopt;
  return result;
}

std::optional<Quantization> QuantizationOf(const Graph& graph, const Node& node) {
  if (!IsOp(node, "QuantizeLinear") || !HasInput(node, 0) || !HasInput(node, 1) || node.outputs.empty())
    return std::nullopt;
  const auto attributes = ValidAttributes<QuantizeLinearAttributes>(node);
  if (!attributes || (attributes->precision != 0 && attributes->rounding() != ElementType::kFloat)) return std::nullopt;
  auto result = Read(graph, node, node.outputs[0], node.inputs[0]);
  if (result && !result->per_tensor()) return std::nullopt;
  return result;
}

bool IsImplied(const Bounds& bounds, const Quantization& to) {
  const double scale = to.Scale();
  return bounds.low <= (to.lowest() - to.Zero()) * scale && bounds.high >= (to.highest() - to.Zero()) * scale;
}

bool SameQuantization(const Quantization& a, const Quantization& b) {
  return a.type == b.type && a.per_tensor() && b.per_tensor() && a.Scale() == b.Scale() && a.Zero() == b.Zero();
}

ValueIndex ZeroPointInput(Graph& graph, const Quantization& quantization) {
  if (quantization.zero != kNone) return quantization.zero;
  Tensor zero(quantization.type, Shape{});
  *static_cast<uint8_t*>(zero.mutable_raw()) = 0;
  return graph.AddConstant("", std::move(zero));
}

}  // namespace tessera
