#include "onednn/claims/quantized_functions.h"

#include <algorithm>
#include <ranges>
#include <span>

#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/quantization.h"
#include "optimizer/analysis/quantized_functions.h"

namespace tessera::onednn {
namespace {

class QuantizedFunctions {
 public:
  explicit QuantizedFunctions(const GraphViewer& graph) : graph_(graph), sources_(graph.num_values(), kOwn) {}

  std::vector<bool> Run() {
    std::vector<bool> functions;
    for (const NodeIndex index : graph_.nodes()) {
      const Node& node = graph_.node(index);
      functions.resize(std::max(functions.size(), static_cast<size_t>(index) + 1));
      const std::span<const ValueIndex> operands = OperandsOf(node);
      if (operands.empty()) continue;
      ValueIndex source = kScalar;
      for (const ValueIndex operand : operands) source = Joined(source, SourceOf(operand));
      if (source < 0) continue;
      sources_[static_cast<size_t>(node.outputs[0])] = source;
      functions[static_cast<size_t>(index)] = true;
    }
    // Floats that no QuantizeLinear reads in the end are no part of a table.
    for (const NodeIndex index : graph_.nodes() | std::views::reverse) {
      if (!functions[static_cast<size_t>(index)]) continue;
      const GraphValue& output = graph_.value(graph_.node(index).outputs[0]);
      functions[static_cast<size_t>(index)] =
          IsByte(output.type) || std::ranges::any_of(output.consumers, [&](NodeIndex reader) {
            return static_cast<size_t>(reader) < functions.size() && functions[static_cast<size_t>(reader)];
          });
    }
    return functions;
  }

 private:
  /// What a value is a function of, where it is no tensor: a constant of one element; several tensors, or none of 8 bits;
  /// not known to be a function of others.
  static constexpr ValueIndex kScalar = -2, kNoSource = -3, kOwn = -4;

  static bool IsByte(const TypeInfo& type) { return type.is_tensor() && tessera::IsByte(type.element); }
  static bool IsFloat(const TypeInfo& type) { return type.is_tensor() && type.element == ElementType::kFloat; }

  ValueIndex SourceOf(ValueIndex value) const {
    if (value == kNone) return kScalar;
    if (const Tensor* constant = graph_.constant(value)) return constant->num_elements() == 1 ? kScalar : kNoSource;
    const ValueIndex source = sources_[static_cast<size_t>(value)];
    return source != kOwn ? source : IsByte(graph_.value(value).type) ? value : kNoSource;
  }

  static ValueIndex Joined(ValueIndex a, ValueIndex b) {
    if (a == kScalar || a == b) return b;
    return b == kScalar ? a : kNoSource;
  }

  /// The inputs that the results at their places are functions of; none where the node is no such function.
  std::span<const ValueIndex> OperandsOf(const Node& node) {
    if (node.inputs.empty() || node.outputs.empty() || node.outputs[0] == kNone) return {};
    const TypeInfo& result = graph_.value(node.outputs[0]).type;
    const std::span<const ValueIndex> inputs(node.inputs);
    if (const auto quantized = QuantizedInputs(node); !quantized.empty()) {
      if (!IsByte(result) || inputs.size() <= quantized.back()) return {};
      operands_.clear();
      for (const size_t i : quantized) operands_.push_back(inputs[i]);
      return operands_;
    }
    const bool dequantizes = IsOp(node, "DequantizeLinear");
    if (dequantizes || IsOp(node, "QuantizeLinear")) {
      const Tensor* scale = inputs.size() > 1 ? graph_.constant(inputs[1]) : nullptr;
      const TypeInfo& from = graph_.value(inputs[0]).type;
      const bool is_8_bits = dequantizes ? IsByte(from) && IsFloat(result) : IsFloat(from) && IsByte(result);
      return is_8_bits && scale != nullptr && scale->num_elements() == 1 ? inputs.first(1) : std::span<const ValueIndex>();
    }
    return IsRealFunction(graph_.graph(), node) && IsFloat(result) ? inputs : std::span<const ValueIndex>();
  }

  const GraphViewer& graph_;
  std::vector<ValueIndex> sources_;   // by value
  std::vector<ValueIndex> operands_;  // of the node that is looked at
};

}  // namespace

std::vector<bool> FunctionsOfOneQuantized(const GraphViewer& graph) { return QuantizedFunctions(graph).Run(); }

}  // namespace tessera::onednn
