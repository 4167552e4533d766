#include "partition/channels_last.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "optimizer/analysis/edit.h"

namespace tessera {
namespace {

constexpr std::string_view kSensitive[] = {"BatchNormalization",
                                           "InstanceNormalization",
                                           "Conv",
                                           "QLinearConv",
                                           "ConvTranspose",
                                           "AveragePool",
                                           "LpPool",
                                           "MaxPool",
                                           "GlobalAveragePool",
                                           "GlobalLpPool",
                                           "GlobalMaxPool",
                                           "LRN",
                                           "GridSample",
                                           "DepthToSpace",
                                           "SpaceToDepth",
                                           "Resize",
                                           "Upsample"};

/// Which axis of the other layout each axis is.
Permutation PermutationTo(bool last, size_t rank) {
  Permutation permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  if (last) {
    std::rotate(permutation.begin() + 1, permutation.begin() + 2, permutation.end());
  } else {
    std::rotate(permutation.begin() + 1, permutation.end() - 1, permutation.end());
  }
  return permutation;
}

bool Undo(const Permutation& first, const Permutation& second) {
  if (first.size() != second.size()) return false;
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[static_cast<size_t>(second[i])] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

TypeInfo Permuted(TypeInfo type, const Permutation& permutation) {
  if (!type.shape) return type;
  const auto dimensions = *type.shape;
  for (size_t i = 0; i < permutation.size(); ++i) (*type.shape)[i] = dimensions[static_cast<size_t>(permutation[i])];
  return type;
}

void AddTranspose(Graph& graph, ValueIndex from, ValueIndex to, const Permutation& permutation, NodeIndex place) {
  Node& node = AddOperator(graph, "Transpose", {from}, to, place);
  node.name = graph.value(to).name + "_transpose";
  SetAttribute(node, "perm", permutation);
}

Tensor Gathered(const Tensor& numbers, const Permutation& permutation) {
  Tensor gathered(numbers.type(), numbers.shape());
  const size_t bytes = numbers.byte_size() / permutation.size();
  const auto* from = static_cast<const std::byte*>(numbers.raw());
  auto* to = static_cast<std::byte*>(gathered.mutable_raw());
  for (size_t i = 0; i < permutation.size(); ++i)
    std::copy_n(from + static_cast<size_t>(permutation[i]) * bytes, bytes, to + i * bytes);
  return gathered;
}

/// Resize's inputs with a number for each axis are in the other layout's order, or its list of axes names the axes there.
void PermuteSizes(Graph& graph, NodeIndex index, const Permutation& permutation) {
  Node& node = graph.node(index);
  for (Attribute& attribute : node.attributes) {
    auto* axes = attribute.name == "axes" ? std::get_if<std::vector<int64_t>>(&attribute.value) : nullptr;
    if (axes == nullptr) continue;
    const auto rank = static_cast<int64_t>(permutation.size());
    for (int64_t& axis : *axes) axis = std::ranges::find(permutation, axis < 0 ? axis + rank : axis) - permutation.begin();
    return;
  }
  for (size_t input = 1; input < node.inputs.size(); ++input) {
    const ValueIndex value = graph.node(index).inputs[input];
    if (value == kNone) continue;
    const GraphValue& sizes = graph.value(value);
    const bool one_each = sizes.type.shape && sizes.type.shape->size() == 1 &&
                          (*sizes.type.shape)[0].value == static_cast<int64_t>(permutation.size());
    if (!one_each) continue;
    if (const Tensor* constant = graph.constant(value); constant != nullptr) {
      graph.SetInput(index, input, graph.AddConstant("", Gathered(*constant, permutation)));
      continue;
    }
    const ValueIndex permuted = graph.AddValue("", sizes.type);
    Node& gather = AddOperator(graph, "Gather", {value, AddIntegers(graph, permutation)}, permuted, index);
    gather.name = graph.value(permuted).name + "_gather";
    graph.SetInput(index, input, permuted);
  }
}

/// Whether that is possible: regions to crop have bounds in an order of their own.
bool HasSizesToPermute(const Graph& graph, const Node& node, size_t rank) {
  for (size_t input = 1; input < node.inputs.size(); ++input) {
    const ValueIndex value = node.inputs[input];
    if (value == kNone || node.FindAttribute("axes") != nullptr) continue;
    const auto& shape = graph.value(value).type.shape;
    if (!shape || shape->size() != 1 || !(*shape)[0].known()) return false;
    const int64_t count = (*shape)[0].value;
    if (count != 0 && count != static_cast<int64_t>(rank)) return false;
  }
  return true;
}

}  // namespace

bool CanHaveChannelsLast(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || std::ranges::find(kSensitive, node.op_type) == std::end(kSensitive)) return false;
  if (node.inputs.empty() || node.inputs[0] == kNone || node.outputs.empty() || node.outputs[0] == kNone) return false;
  if (std::any_of(node.outputs.begin() + 1, node.outputs.end(), [](ValueIndex output) { return output != kNone; }))
    return false;
  const TypeInfo &input = graph.value(node.inputs[0]).type, &output = graph.value(node.outputs[0]).type;
  if (!input.shape || input.shape->size() < 3 || !output.shape || output.shape->size() != input.shape->size()) return false;
  const bool is_sized = node.op_type == "Resize" || node.op_type == "Upsample";
  return !is_sized || HasSizesToPermute(graph, node, input.shape->size());
}

void SetChannelsLast(Graph& graph, NodeIndex index, bool last) {
  const ValueIndex input = graph.node(index).inputs[0], output = graph.node(index).outputs[0];
  const size_t rank = graph.value(input).type.shape->size();
  const Permutation to = PermutationTo(last, rank), back = PermutationTo(!last, rank);
  const ValueIndex inner_input = graph.AddValue("", Permuted(graph.value(input).type, to));
  const ValueIndex inner_output = graph.AddValue("", Permuted(graph.value(output).type, to));
  AddTranspose(graph, input, inner_input, to, index);
  graph.SetInput(index, 0, inner_input);
  graph.SetOutput(index, 0, inner_output);
  AddTranspose(graph, inner_output, output, back, index);
  Node& node = graph.node(index);
  if (node.op_type == "Resize" || node.op_type == "Upsample") PermuteSizes(graph, index, to);
  node.domain = last ? kChannelsLastDomain : std::string_view();
}

void CancelTransposes(Graph& graph) {
  const std::vector<NodeIndex> order = graph.TopologicalOrder();
  for (const NodeIndex index : order) {
    const auto second = PermutationOf(graph, graph.node(index));
    if (!second) continue;
    const ValueIndex output = graph.node(index).outputs[0];
    const NodeIndex producer = graph.value(graph.node(index).inputs[0]).producer;
    const auto first = producer == kNone ? std::nullopt : PermutationOf(graph, graph.node(producer));
    if (!first || !Undo(*first, *second) || graph.value(output).is_output) continue;
    graph.ReplaceUses(output, graph.node(producer).inputs[0]);
    graph.RemoveNode(index);
    RemoveUnread(graph, producer);
  }
}

}  // namespace tessera
