#include "optimizer/analysis/constant_folding.h"

#include <algorithm>
#include <chrono>

#include "base/held_bytes.h"
#include "graph/op_traits.h"
#include "graph/operator_definitions.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/evaluate.h"
#include "optimizer/analysis/folding_work.h"

namespace tessera {
namespace {

constexpr int64_t kAlwaysFine = int64_t{1} << 20;  // bytes of one output
constexpr int64_t kMostGrowth = 8;                 // times the bytes of the inputs
/// Of one node: a MatMul of two matrices of 1024 x 1024 is folded, one of 2048 x 2048 is not.
constexpr double kMostOperations = double{int64_t{1} << 31};
constexpr auto kMostTime = std::chrono::milliseconds(5000);
constexpr auto kLongTry = std::chrono::milliseconds(100);  // is not made twice

bool IsFoldable(const Graph& graph, const Node& node) {
  if (FindSchema(graph, node) == nullptr || Has(node, OpTrait::kRandom)) return false;
  if (IsOp(node, "DequantizeLinear")) return false;  // providers run the quantized values as they are
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (HasInput(node, i) && ConstantInput(graph, node, i) == nullptr) return false;
  }
  for (const ValueIndex output : node.outputs) {
    if (output != kNone && !graph.value(output).type.is_tensor()) return false;
  }
  return graph.Subgraphs(node.index).empty();
}

/// Converts a large matrix of 16 bits for matmuls only, which Linear (ai.tessera) reads as it is.
bool ConvertsMatrix(const Graph& graph, const Node& cast) {
  constexpr int64_t kLarge = int64_t{1} << 15;  // elements
  if (!IsOp(cast, "Cast") || ElementOf(graph, cast.outputs[0]) != ElementType::kFloat) return false;
  const Tensor& matrix = *ConstantInput(graph, cast, 0);
  if (!IsHalf(matrix.type()) || matrix.shape().rank() != 2 || matrix.num_elements() < kLarge) return false;
  const GraphValue& result = graph.value(cast.outputs[0]);
  return !result.is_output && std::all_of(result.consumers.begin(), result.consumers.end(), [&](NodeIndex reader) {
    const Node& matmul = graph.node(reader);
    return (IsOp(matmul, "MatMul") || IsOp(matmul, "Gemm")) && matmul.inputs[0] != cast.outputs[0] &&
           matmul.inputs[1] == cast.outputs[0];
  });
}

}  // namespace

bool ConstantFolding::Apply(Graph& graph, NodeIndex index, RewriteContext& context) {
  const Node& node = graph.node(index);
  if (!IsFoldable(graph, node)) return false;
  if (matrices_ == WideMatrices::kLeave && context.precision == Precision::kFloat32 && ConvertsMatrix(graph, node))
    return false;
  int64_t given = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (const Tensor* input = ConstantInput(graph, node, i)) given += static_cast<int64_t>(HeldBytes(Value(*input)));
  }
  const int64_t most = std::min(std::max(kAlwaysFine, kMostGrowth * given), context.folding_budget);
  const auto results = Compute(graph, node, context, most);
  if (!results) return false;
  for (const Tensor& result : *results) {
    if (result.defined() && made_.insert(result.raw()).second)
      context.folding_budget -= static_cast<int64_t>(HeldBytes(Value(result)));
  }
  const std::vector<ValueIndex> inputs = node.inputs;
  ReplaceByConstants(graph, index, *results);
  for (const ValueIndex input : inputs) Drop(graph, input, context);
  return true;
}

/// Nothing where it would be too slow.
std::optional<std::vector<Tensor>> ConstantFolding::Compute(const Graph& graph, const Node& node, RewriteContext& context,
                                                            int64_t most) {
  const double operations = EstimatedOperations(graph, node);
  if (operations > std::min(kMostOperations, context.folding_operations) || given_up_.contains({&graph, node.index}))
    return std::nullopt;
  const auto start = std::chrono::steady_clock::now();
  auto results =
      Evaluate(graph, node, context.resources, {.output_bytes = most, .time = std::min(kMostTime, context.folding_time)});
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
  context.folding_time = std::max(context.folding_time - took, std::chrono::milliseconds(0));
  context.folding_operations -= operations;
  if (!results && took >= kLongTry) given_up_.emplace(&graph, node.index);
  return results;
}

/// Intermediate results give their memory back at once.
void ConstantFolding::Drop(Graph& graph, ValueIndex index, RewriteContext& context) {
  if (index == kNone) return;
  const GraphValue& value = graph.value(index);
  if (!value.consumers.empty() || value.is_output || !value.constant) return;
  const auto bytes = static_cast<int64_t>(HeldBytes(Value(*value.constant)));
  if (value.constant->owner().use_count() == 1 && made_.erase(value.constant->unaligned_raw()) > 0)
    context.folding_budget += bytes;
  graph.DropConstant(index);
}

}  // namespace tessera
