#include "onednn/claims/claims.h"

#include <algorithm>
#include <array>
#include <optional>

#include "graph/private_names.h"
#include "kernels/conv/choose/choose.h"
#include "kernels/conv/choose/costs.h"
#include "kernels/gemm/gemm_bf16.h"
#include "onednn/lowering/lowering.h"
#include "ops/nn/conv.h"
#include "optimizer/analysis/attention_pattern.h"
#include "runtime/profile/work.h"

namespace tessera::onednn {
namespace {

bool IsOneOf(const Node& node, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), node.op_type) != names.end();
}

constexpr std::string_view kConvolutions[] = {"Conv", "ConvTranspose"};
constexpr std::string_view kMatMuls[] = {"MatMul", "Gemm"};
constexpr std::string_view kQuantizedGemm[] = {"QLinearConv", "ConvInteger", "QLinearMatMul", "MatMulInteger",
                                               "MatMulIntegerToFloat"};
constexpr std::string_view kPooling[] = {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"};

bool IsQuantizedGemm(const Node& node) { return IsOneOf(node, kQuantizedGemm); }

bool TakesQuantized(const GraphViewer& graph, const Node& node) {
  return kQuantized.contains(graph.value(node.inputs[0]).type.element);
}

bool IsTransposed(const Node& node) { return ConvolutionKindOf(node) == ConvolutionKind::kTransposed; }

/// A convolution of floats that another provider has rewritten for itself.
bool IsRewrittenConvolution(const GraphViewer& graph, const Node& node) {
  if (node.domain != kTesseraDomain || ConvolutionKindOf(node) == ConvolutionKind::kNone) return false;
  return graph.value(node.inputs[0]).type.element == ElementType::kFloat && graph.value(node.inputs[1]).type.shape;
}

/// Multiply-adds of a convolution, as if over one pixel where the image's size is not known.
double MultiplyAdds(const GraphViewer& graph, const Node& node) {
  double multiply_adds = 1;
  const auto multiply = [&](const Dimension& dim) { multiply_adds *= dim.known() ? static_cast<double>(dim.value) : 1; };
  const SymbolicShape& weights = *graph.value(node.inputs[1]).type.shape;
  std::for_each(weights.begin(), weights.end(), multiply);
  const std::optional<SymbolicShape>& image = graph.value(IsTransposed(node) ? node.inputs[0] : node.outputs[0]).type.shape;
  for (size_t i = 2; image && i < std::min(image->size(), weights.size()); ++i) multiply((*image)[i]);
  return multiply_adds;
}

/// Whether the CPU provider may compute it through Winograd's transform, with a multiple of the speed of sums.
bool IsTransformed(const GraphViewer& graph, const Node& node) {
  const std::optional<Shape> weights = ToShape(*graph.value(node.inputs[1]).type.shape);
  if (IsTransposed(node) || !weights || weights->rank() != 4) return false;
  const auto conv = cpu::DescribeValidConv(node, {}, *weights);
  return conv && MayTransform(*conv);
}

}  // namespace

std::string WhyLeave(const GraphViewer& graph, const Node& node, Claims claims) {
  if (claims == Claims::kAll) return {};
  if (FindLowering(node)->by_choice) return "the CPU provider computes it as fast; option claims=all claims it";
  if (TakesQuantized(graph, node))
    return "the CPU provider computes with 8-bit integers as fast; option claims=all claims it";
  if (kHalfPrecision.contains(graph.value(node.inputs[0]).type.element))
    return "the CPU provider computes 16-bit numbers as float32; option claims=all claims them";
  if (claims == Claims::kRounded) return {};
  if (claims == Claims::kFasterRounded) {
    return IsMatMul(node) && cpu::GemmBf16Pays() && !HasTiles()
               ? "the CPU provider multiplies bfloat16 faster; option claims=all claims it"
               : "";
  }
  return "the CPU provider computes float32 faster; option claims=all claims it";
}

std::vector<bool> LeftAttention(const GraphViewer& graph, const std::vector<bool>& claimed, Claims claims) {
  const auto takes = [&](NodeIndex part) {
    return static_cast<size_t>(part) < claimed.size() && claimed[static_cast<size_t>(part)];
  };
  std::vector<bool> left(claimed.size());
  for (const NodeIndex index : graph.nodes()) {
    const auto pattern = FindAttention(graph.graph(), graph.node(index));
    if (!pattern || !pattern->is_beyond_onnx()) continue;
    if (claims == Claims::kAll && std::ranges::all_of(pattern->nodes, takes)) continue;
    for (const NodeIndex part : pattern->nodes) {
      if (takes(part)) left[static_cast<size_t>(part)] = true;
    }
  }
  return left;
}

bool TransformsAreFaster(const GraphViewer& graph, const std::vector<bool>& claimed) {
  const cpu::Bf16Speeds& speeds = cpu::ConvCostsHere().bf16;
  double transformed = 0, summed = 0;
  for (const NodeIndex index : graph.nodes()) {
    const Node& node = graph.node(index);
    // Those that another provider has already stay in the sum, so that none is claimed alone afterwards.
    const bool claimable = claimed[static_cast<size_t>(index)] && IsOneOf(node, kConvolutions);
    if (!claimable && !IsRewrittenConvolution(graph, node)) continue;
    (IsTransformed(graph, node) ? transformed : summed) += MultiplyAdds(graph, node);
  }
  return transformed > 0 &&
         transformed / speeds.transformed + summed / speeds.direct < (transformed + summed) / speeds.rounded;
}

bool IsMatMul(const Node& node) { return IsOneOf(node, kMatMuls); }

bool IsAnchor(const GraphViewer& graph, const Node& node, Claims claims) {
  if (IsOneOf(node, kConvolutions) || IsQuantizedGemm(node)) return true;
  if (claims == Claims::kAll) {
    const Lowering& lowering = *FindLowering(node);
    if (lowering.by_choice || lowering.types(0) == kQuantized) return true;
  }
  if (IsMatMul(node)) return claims != Claims::kFaster;
  if (!IsOneOf(node, kPooling)) return false;
  return TakesQuantized(graph, node) ? claims == Claims::kAll : claims != Claims::kFaster;
}

}  // namespace tessera::onednn
