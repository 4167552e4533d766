#include "optimizer/analysis/edit.h"

#include <algorithm>

#include "graph/onnx_schemas.h"
#include "graph/private_names.h"
#include "onnx/defs/schema.h"
#include "ops/movement/pad.h"
#include "ops/movement/reshape.h"
#include "ops/movement/transpose.h"
#include "ops/valid_attributes.h"
#include "tessera/provider/attributes.h"

namespace tessera {
namespace {

/// What is known of `from` is known of `to`, which stands for it now.
void RefineType(GraphValue& to, const TypeInfo& from) {
  if (to.type.kind == ValueKind::kNone) {
    to.type = from;
  } else if (to.type.kind == from.kind && to.type.element == from.element && !to.type.shape) {
    to.type.shape = from.shape;
  }
}

}  // namespace

Node& AddOperator(Graph& graph, std::string_view op_type, std::vector<ValueIndex> inputs, ValueIndex output,
                  NodeIndex before) {
  Node node;
  node.op_type = op_type;
  node.since_version = VersionOf(graph, op_type);
  node.inputs = std::move(inputs);
  node.outputs = {output};
  return graph.node(graph.AddNode(std::move(node), before));
}

ValueIndex AddIntegers(Graph& graph, std::span<const int64_t> values) {
  return graph.AddConstant("", Tensor::Of<int64_t>({static_cast<int64_t>(values.size())}, values));
}

void RemoveUnread(Graph& graph, NodeIndex index) {
  const GraphValue& value = graph.value(graph.node(index).outputs[0]);
  if (value.consumers.empty() && !value.is_output) graph.RemoveNode(index);
}

bool BypassNode(Graph& graph, NodeIndex index, ValueIndex replacement) {
  const ValueIndex output = graph.node(index).outputs[0];
  GraphValue& to = graph.value(replacement);
  if (!graph.value(output).is_output) {
    RefineType(to, graph.value(output).type);
    graph.ReplaceUses(output, replacement);
    graph.RemoveNode(index);
    return true;
  }
  if (const Tensor* held = graph.constant(replacement)) {
    const Tensor constant = *held;
    graph.RemoveNode(index);
    graph.SetConstant(output, constant);
    return true;
  }
  if (to.producer == kNone || to.is_output) return false;
  const NodeIndex producer = to.producer;
  const size_t position = graph.OutputPosition(replacement);
  RefineType(graph.value(output), to.type);
  graph.RemoveNode(index);
  graph.SetOutput(producer, position, output);
  graph.ReplaceUses(replacement, output);
  return true;
}

void ReplaceByConstants(Graph& graph, NodeIndex index, std::span<const Tensor> constants) {
  const std::vector<ValueIndex> outputs = graph.node(index).outputs;
  graph.RemoveNode(index);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != kNone && constants[i].defined()) graph.SetConstant(outputs[i], constants[i]);
  }
}

int VersionOf(const Graph& graph, std::string_view op_type) {
  const auto* schema = FindOnnxSchema(op_type, graph.opset_version(""));
  return schema == nullptr ? 0 : schema->SinceVersion();
}

bool HasOneOutput(const Node& node) noexcept {
  return !node.outputs.empty() && node.outputs[0] != kNone &&
         std::all_of(node.outputs.begin() + 1, node.outputs.end(), [](ValueIndex output) { return output == kNone; });
}

bool IsOp(const Node& node, std::string_view op_type) noexcept { return node.domain.empty() && node.op_type == op_type; }

const Node* Producer(const Graph& graph, ValueIndex value) noexcept {
  const NodeIndex producer = value == kNone ? kNone : graph.value(value).producer;
  return producer == kNone ? nullptr : &graph.node(producer);
}

bool IsAttention(const Node& node) noexcept {
  return node.op_type == "Attention" && (node.domain.empty() || node.domain == kTesseraDomain);
}

const Node* Producer(const Graph& graph, const Node& node, size_t i) noexcept {
  return HasInput(node, i) ? Producer(graph, node.inputs[i]) : nullptr;
}

bool HasOneReader(const Graph& graph, ValueIndex index) noexcept {
  const GraphValue& value = graph.value(index);
  if (value.is_output || value.consumers.size() != 1) return false;
  return graph.ReadsOnce(value.consumers[0], index);
}

bool HasInput(const Node& node, size_t i) noexcept { return i < node.inputs.size() && node.inputs[i] != kNone; }

const Tensor* ConstantInput(const Graph& graph, const Node& node, size_t i) noexcept {
  return HasInput(node, i) ? graph.constant(node.inputs[i]) : nullptr;
}

void SetAttribute(Node& node, std::string_view name, AttributeValue value) {
  for (Attribute& held : node.attributes) {
    if (held.name == name) {
      held.value = std::move(value);
      return;
    }
  }
  node.attributes.push_back({std::string(name), std::move(value)});
}

std::optional<std::vector<int64_t>> Integers(const Tensor* tensor, size_t most) {
  if (tensor == nullptr || static_cast<size_t>(tensor->num_elements()) > most) return std::nullopt;
  if (tensor->is(ElementType::kInt64)) {
    const auto values = tensor->values<int64_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  }
  if (tensor->is(ElementType::kInt32)) {
    const auto values = tensor->values<int32_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  }
  return std::nullopt;
}

std::optional<std::vector<int64_t>> AxesOf(const Graph& graph, const Node& node, size_t input) {
  if (HasInput(node, input)) return Integers(ConstantInput(graph, node, input));
  const auto* attribute = FindTyped<std::vector<int64_t>>(node, "axes");
  return attribute == nullptr ? std::nullopt : std::optional(*attribute);
}

std::optional<std::vector<int64_t>> PadsOf(const Graph& graph, const Node& pad) {
  const auto attributes = ValidAttributes<PadAttributes>(pad);
  if (!attributes) return std::nullopt;
  return attributes->from_attributes ? attributes->pads : Integers(ConstantInput(graph, pad, 1));
}

std::optional<std::vector<int64_t>> TargetOf(const Graph& graph, const Node& reshape) {
  const ReshapeAttributes attributes(reshape);
  return attributes.from_attribute ? attributes.shape : Integers(ConstantInput(graph, reshape, 1));
}

std::optional<Permutation> PermutationOf(const Graph& graph, const Node& node) {
  if (!IsOp(node, "Transpose") || !HasInput(node, 0)) return std::nullopt;
  const SymbolicShape* shape = ShapeOf(graph, node.inputs[0]);
  if (shape == nullptr) return std::nullopt;
  const auto attributes = ValidAttributes<TransposeAttributes>(node);
  const size_t rank = shape->size();
  if (!attributes || !(attributes->reverses || attributes->perm.size() == rank)) return std::nullopt;
  Permutation permutation;
  for (size_t i = 0; i < rank; ++i) permutation.push_back(static_cast<int64_t>(attributes->From(i, rank)));
  return permutation;
}

const SymbolicShape* ShapeOf(const Graph& graph, ValueIndex index) noexcept {
  const TypeInfo& type = graph.value(index).type;
  return type.is_tensor() && type.shape ? &*type.shape : nullptr;
}

double KnownElements(const Graph& graph, ValueIndex index) {
  double count = 1;
  for (const Dimension& dim : *ShapeOf(graph, index)) count *= dim.known() ? static_cast<double>(dim.value) : 1;
  return count;
}

std::optional<Shape> StaticShapeOf(const Graph& graph, ValueIndex index) {
  const SymbolicShape* shape = ShapeOf(graph, index);
  return shape == nullptr ? std::nullopt : ToShape(*shape);
}

bool SameDimension(const Dimension& a, const Dimension& b) noexcept { return a == b && (a.known() || !a.symbol.empty()); }

bool SameShape(const Graph& graph, ValueIndex a, ValueIndex b) noexcept {
  const SymbolicShape *x = ShapeOf(graph, a), *y = ShapeOf(graph, b);
  return x != nullptr && y != nullptr && std::equal(x->begin(), x->end(), y->begin(), y->end(), SameDimension);
}

ElementType ElementOf(const Graph& graph, ValueIndex index) noexcept {
  const TypeInfo& type = graph.value(index).type;
  return type.is_tensor() ? type.element : ElementType::kUndefined;
}

}  // namespace tessera
