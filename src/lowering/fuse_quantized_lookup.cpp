// fuse_quantized_lookup: elementwise operators between a DequantizeLinear and a QuantizeLinear compute a function of one
// 8-bit value, however many they are: a table of its 256 results replaces them, or nothing where these are the values. So
// do com.microsoft's quantized operators become tables, and tables of tables one: QLinearMul of a tensor and its
// QLinearSigmoid is a function of one quantized value as well. All that a table stands for is of the provider that is
// being lowered.

#include <map>
#include <numeric>

#include "graph/private_names.h"
#include "lowering/fused_kernels.h"
#include "lowering/lowering.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/evaluate.h"
#include "optimizer/analysis/quantization.h"
#include "optimizer/analysis/quantized_functions.h"

namespace tessera {
namespace {

constexpr int64_t kByteValues = 256;
constexpr std::string_view kLookup = "QuantizedLookup";

/// The values of a float tensor, as results of the 256 values of one 8-bit tensor.
class Tabulation {
 public:
  Tabulation(const Graph& graph, const RewriteContext& context) : graph_(graph), context_(context) {}

  /// Of 256 numbers, or of one where it does not depend on the tensor.
  std::optional<Tensor> Numbers(ValueIndex value) {
    if (value == kNone || ElementOf(graph_, value) != ElementType::kFloat) return std::nullopt;
    if (const auto found = known_.find(value); found != known_.end()) return found->second;
    if (++visits_ > kMostNodesOfFunction) return std::nullopt;
    const auto result = Find(value);
    if (result) known_.emplace(value, *result);
    return result;
  }

  ValueIndex base() const { return base_; }
  /// Of the constants that meet the tensor.
  size_t most_rank() const { return most_rank_; }

  /// The results that a QuantizeLinear, or a quantized operator, computes for each value of base().
  std::optional<Tensor> Results(const Node& node) {
    std::vector<Tensor> inputs(node.inputs.size());
    if (const auto to = QuantizationOf(graph_, node)) {
      auto numbers = Numbers(to->numbers);
      if (!numbers || numbers->num_elements() != kByteValues) return std::nullopt;
      inputs[0] = std::move(*numbers);
      return Run(node, inputs);
    }
    const auto which = QuantizedInputs(node);
    if (which.empty()) return std::nullopt;
    for (const size_t i : which) {
      auto quantized =
          HasInput(node, i) && IsByte(ElementOf(graph_, node.inputs[i])) ? ValuesOf(node.inputs[i]) : std::nullopt;
      if (!quantized) return std::nullopt;
      inputs[i] = std::move(*quantized);
    }
    return Run(node, inputs);
  }

 private:
  std::optional<Tensor> Find(ValueIndex value) {
    if (const Tensor* constant = graph_.constant(value)) return Scalar(*constant);
    const NodeIndex producer = graph_.value(value).producer;
    if (producer == kNone) return std::nullopt;
    const Node& node = graph_.node(producer);
    if (!context_.Lowers(node)) return std::nullopt;
    if (const auto from = DequantizationOf(graph_, node)) {
      if (!from->per_tensor()) return std::nullopt;
      auto quantized = ValuesOf(from->quantized);
      return quantized ? Run(node, {std::move(*quantized)}) : std::nullopt;
    }
    if (!IsRealFunction(graph_, node)) return std::nullopt;
    std::vector<Tensor> inputs;
    for (const ValueIndex input : node.inputs) {
      if (input == kNone) {
        inputs.emplace_back();
        continue;
      }
      auto numbers = Numbers(input);
      if (!numbers) return std::nullopt;
      inputs.push_back(std::move(*numbers));
    }
    return Run(node, inputs);
  }

  /// What an 8-bit tensor holds for each value of the one that all begins with.
  std::optional<Tensor> ValuesOf(ValueIndex value) {
    if (const Tensor* constant = graph_.constant(value)) return Scalar(*constant);
    const NodeIndex producer = graph_.value(value).producer;
    if (producer != kNone && IsOwnLookup(graph_.node(producer))) {
      const Node& lookup = graph_.node(producer);
      const auto from = ++visits_ > kMostNodesOfFunction ? std::nullopt : ValuesOf(lookup.inputs[0]);
      const Tensor* table = ConstantInput(graph_, lookup, 1);
      if (!from || table == nullptr || from->num_elements() != kByteValues) return std::nullopt;
      Tensor result(ElementOf(graph_, value), Shape{kByteValues});
      for (int64_t i = 0; i < kByteValues; ++i) Bytes(result)[i] = table->data<uint8_t>()[Bytes(*from)[i]];
      return result;
    }
    if (base_ != kNone && base_ != value) return std::nullopt;
    base_ = value;
    Tensor all(ElementOf(graph_, value), Shape{kByteValues});
    std::iota(Bytes(all), Bytes(all) + kByteValues, uint8_t{0});
    return all;
  }

  bool IsOwnLookup(const Node& node) const {
    return node.op_type == kLookup && node.domain == kTesseraDomain && context_.Lowers(node);
  }

  static uint8_t* Bytes(Tensor& tensor) { return static_cast<uint8_t*>(tensor.mutable_raw()); }
  static const uint8_t* Bytes(const Tensor& tensor) { return static_cast<const uint8_t*>(tensor.raw()); }

  /// One number, which does not add dimensions to the tensor that it meets.
  std::optional<Tensor> Scalar(const Tensor& constant) {
    if (constant.num_elements() != 1) return std::nullopt;
    most_rank_ = std::max(most_rank_, constant.shape().rank());
    return constant.Reshaped(Shape{});
  }

  std::optional<Tensor> Run(const Node& node, const std::vector<Tensor>& inputs) {
    Graph alone;
    Node probe = node;
    for (size_t i = 0; i < probe.inputs.size(); ++i) {
      if (probe.inputs[i] == kNone) continue;
      const Tensor* constant = i < inputs.size() && inputs[i].defined() ? &inputs[i] : ConstantInput(graph_, node, i);
      if (constant == nullptr) return std::nullopt;
      probe.inputs[i] = alone.AddConstant("", *constant);
    }
    TypeInfo type = graph_.value(node.outputs[0]).type;
    type.shape.reset();
    probe.outputs = {alone.AddValue("", type)};
    auto results =
        Evaluate(alone, alone.node(alone.AddNode(std::move(probe))), context_.resources, {.output_bytes = 1 << 16});
    if (!results || results->size() != 1 ||
        ((*results)[0].num_elements() != kByteValues && (*results)[0].num_elements() != 1))
      return std::nullopt;
    return (*results)[0];
  }

  const Graph& graph_;
  const RewriteContext& context_;
  std::map<ValueIndex, Tensor> known_;
  ValueIndex base_ = kNone;
  size_t visits_ = 0;
  size_t most_rank_ = 0;
};

class QuantizedTabulation final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& node = graph.node(index);
    if (!HasOneOutput(node) || !context.Lowers(node)) return false;
    Tabulation tabulation(graph, context);
    const auto quantized = tabulation.Results(node);
    if (!quantized || tabulation.base() == kNone || quantized->num_elements() != kByteValues) return false;
    const ElementType type = ElementOf(graph, node.outputs[0]);
    if (!IsByte(type) || !quantized->is(type)) return false;
    const ValueIndex base = tabulation.base();
    const SymbolicShape* shape = ShapeOf(graph, base);
    if (tabulation.most_rank() > (shape == nullptr ? 0 : shape->size())) return false;
    const auto* bytes = static_cast<const uint8_t*>(quantized->raw());
    bool same = ElementOf(graph, base) == type;
    for (int64_t i = 0; same && i < kByteValues; ++i) same = bytes[i] == i;
    if (same) return BypassNode(graph, index, base);
    return Replace(graph, node, base, bytes, context);
  }

 private:
  static bool Replace(Graph& graph, const Node& node, ValueIndex base, const uint8_t* bytes, RewriteContext& context) {
    Node lookup;
    lookup.op_type = kLookup;
    lookup.domain = kTesseraDomain;
    lookup.name = node.name;
    lookup.since_version = 1;
    Tensor table(ElementType::kUInt8, Shape{kByteValues});
    std::copy_n(bytes, kByteValues, table.mutable_data<uint8_t>());
    lookup.inputs = {base, graph.AddConstant("", std::move(table))};
    lookup.outputs = {node.outputs[0]};
    if (!MayFuse(graph, lookup, context)) return false;
    const NodeIndex index = node.index;
    graph.RemoveNode(index);
    graph.AddNode(std::move(lookup), index);
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> FuseQuantizedLookup() { return std::make_unique<QuantizedTabulation>(); }

}  // namespace tessera
