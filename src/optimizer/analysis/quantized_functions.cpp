#include "optimizer/analysis/quantized_functions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>

#include "graph/microsoft/schemas.h"
#include "graph/op_traits.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/quantization.h"

namespace tessera {
namespace {

/// What elements of a value are functions of.
struct Origin {
  ValueIndex base = kNone;   // a quantized tensor; kNone: of nothing but constants
  size_t constant_rank = 0;  // of constants of one element that meet it
};

class Origins {
 public:
  explicit Origins(const Graph& graph) : graph_(graph) {}

  /// Of a value of 8 bits: of itself where it is made of several, or otherwise. Nothing for constants that are no scalars.
  std::optional<Origin> OfQuantized(ValueIndex value) {
    if (const Tensor* constant = graph_.constant(value)) return OfConstant(*constant);
    if (const auto found = quantized_.find(value); found != quantized_.end()) return found->second;
    const auto further = ++visits_ > kMostNodesOfFunction ? std::nullopt : OfProducer(value);
    return quantized_[value] = further && further->base != kNone ? *further : Origin{value};
  }

  std::optional<Origin> Join(const std::optional<Origin>& a, const std::optional<Origin>& b) const {
    if (!a || !b || (a->base != kNone && b->base != kNone && a->base != b->base)) return std::nullopt;
    return Origin{a->base != kNone ? a->base : b->base, std::max(a->constant_rank, b->constant_rank)};
  }

 private:
  std::optional<Origin> OfProducer(ValueIndex value) {
    const NodeIndex producer = graph_.value(value).producer;
    if (producer == kNone || !IsByte(ElementOf(graph_, value))) return std::nullopt;
    const Node& node = graph_.node(producer);
    if (const auto to = QuantizationOf(graph_, node)) return OfNumbers(to->numbers);
    const auto which = QuantizedInputs(node);
    if (which.empty()) return std::nullopt;
    std::optional<Origin> all = Origin();
    for (const size_t i : which) all = Join(all, HasInput(node, i) ? OfQuantized(node.inputs[i]) : std::nullopt);
    return all;
  }

  /// Of a value of floats.
  std::optional<Origin> OfNumbers(ValueIndex value) {
    if (ElementOf(graph_, value) != ElementType::kFloat) return std::nullopt;
    if (const Tensor* constant = graph_.constant(value)) return OfConstant(*constant);
    if (const auto found = numbers_.find(value); found != numbers_.end()) return found->second;
    const NodeIndex producer = graph_.value(value).producer;
    if (producer == kNone || ++visits_ > kMostNodesOfFunction) return std::nullopt;
    const Node& node = graph_.node(producer);
    std::optional<Origin> all;
    if (const auto from = DequantizationOf(graph_, node)) {
      if (from->per_tensor()) all = OfQuantized(from->quantized);
    } else if (IsRealFunction(graph_, node)) {
      all = Origin();
      for (const ValueIndex input : node.inputs | std::views::filter([](ValueIndex one) { return one != kNone; }))
        all = Join(all, OfNumbers(input));
    }
    return numbers_[value] = all;
  }

  static std::optional<Origin> OfConstant(const Tensor& constant) {
    return constant.num_elements() == 1 ? std::optional(Origin{kNone, constant.shape().rank()}) : std::nullopt;
  }

  const Graph& graph_;
  std::map<ValueIndex, Origin> quantized_;
  std::map<ValueIndex, std::optional<Origin>> numbers_;
  size_t visits_ = 0;
};

}  // namespace

std::span<const size_t> QuantizedInputs(const Node& node) {
  static constexpr size_t first[] = {0}, both[] = {0, 3};
  if (node.domain != kMicrosoftDomain) return {};
  if (node.op_type == "QLinearSigmoid" || node.op_type == "QLinearLeakyRelu") return first;
  if (node.op_type == "QLinearAdd" || node.op_type == "QLinearMul") return both;
  return {};
}

bool IsRealFunction(const Graph& graph, const Node& node) {
  const OpTraits traits = TraitsOf(graph, node);
  return traits.Has(OpTrait::kReal) && traits.IsElementwise() && HasOneOutput(node);
}

bool AreFunctionsOfOne(const Graph& graph, ValueIndex a, ValueIndex b) {
  Origins origins(graph);
  const auto origin = origins.Join(origins.OfQuantized(a), origins.OfQuantized(b));
  if (!origin || origin->base == kNone) return false;
  const SymbolicShape* shape = ShapeOf(graph, origin->base);
  return origin->constant_rank <= (shape == nullptr ? 0 : shape->size());
}

}  // namespace tessera
