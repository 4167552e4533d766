#include "claims.h"

#include <algorithm>
#include <array>

#include "lowering.h"

namespace tessera::onednn {
namespace {

bool IsOneOf(const Node& node, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), node.op_type) != names.end();
}

constexpr std::string_view kConvolutions[] = {"Conv", "ConvTranspose"};
constexpr std::string_view kProducts[] = {"MatMul", "Gemm"};
constexpr std::string_view kByteProducts[] = {"QLinearConv", "ConvInteger", "QLinearMatMul", "MatMulInteger", "MatMulIntegerToFloat"};
constexpr std::string_view kPooling[] = {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"};

bool IsByteProduct(const Node& node) { return IsOneOf(node, kByteProducts); }

bool TakesCodes(const GraphViewer& graph, const Node& node) { return kCodes.contains(graph.value(node.inputs[0]).type.element); }

std::string WhyLeaveCodes(const Node& node) {
  if (!HasTiles()) return "without AMX the CPU provider computes with 8-bit codes as fast; option claims=all claims it";
  // Tiles are of channels that meet.
  return AttributeOr<int64_t>(node, "group", 1) == 1 ? "" : "the CPU provider convolves groups of 8-bit codes as fast; option claims=all claims it";
}

}  // namespace

std::string WhyLeave(const GraphViewer& graph, const Node& node, Claims claims) {
  if (claims == Claims::kAll) return {};
  if (FindLowering(node)->by_choice) return "the CPU provider computes it as fast; option claims=all claims it";
  if (TakesCodes(graph, node)) return WhyLeaveCodes(node);
  if (kHalves.contains(graph.value(node.inputs[0]).type.element)) return "the CPU provider computes 16-bit numbers as float32; option claims=all claims them";
  if (claims == Claims::kRounded) return {};
  if (claims == Claims::kFasterRounded) {
    return IsProduct(node) && !HasTiles() ? "the CPU provider multiplies bfloat16 faster; option claims=all claims it" : "";
  }
  return "the CPU provider computes float32 faster; option claims=all claims it";
}

bool IsProduct(const Node& node) { return IsOneOf(node, kProducts); }

bool IsAnchor(const GraphViewer& graph, const Node& node, Claims claims) {
  if (IsOneOf(node, kConvolutions) || IsByteProduct(node)) return true;
  if (claims == Claims::kAll) {
    const Lowering& lowering = *FindLowering(node);
    if (lowering.by_choice || lowering.types(0) == kCodes) return true;
  }
  if (IsProduct(node)) return claims != Claims::kFaster;
  if (!IsOneOf(node, kPooling)) return false;
  return TakesCodes(graph, node) ? claims == Claims::kAll : claims != Claims::kFaster;
}

}  // namespace tessera::onednn
