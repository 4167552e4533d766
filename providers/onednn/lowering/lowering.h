#pragma once

// How each ONNX operator becomes oneDNN primitives: one Lowering per operator, one file per family.

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onednn/program/builder.h"
#include "ops/nn/window.h"
#include "tessera/provider/attributes.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::onednn {

// float16 came with oneDNN 3.
#if DNNL_VERSION_MAJOR >= 3
inline constexpr TypeSet kHalfPrecision = {ElementType::kBFloat16, ElementType::kFloat16};
#else
inline constexpr TypeSet kHalfPrecision = {ElementType::kBFloat16};
#endif
inline constexpr TypeSet kSingles = {ElementType::kFloat}, kFloats = kSingles | kHalfPrecision;
inline constexpr TypeSet kQuantized = {ElementType::kInt8, ElementType::kUInt8}, kAccumulators = {ElementType::kInt32};
inline constexpr TypeSet kOnlyFloats[] = {kFloats};
/// Of operators that move elements or pick them.
inline constexpr TypeSet kFloatsOrQuantized[] = {kFloats | kQuantized};

struct Lowering {
  std::string_view op_type;
  int first_version;
  int last_version;
  /// Constant inputs may be of other types (shapes, bounds).
  bool host_inputs;
  /// What the general checks do not cover; empty when the node can be lowered whatever its run-time shapes.
  std::string (*refusal)(const GraphViewer& graph, const Node& node);
  void (*lower)(ProgramBuilder& builder, const Node& node);
  std::string_view domain = "";
  /// By input; the last is that of those after it, too.
  std::span<const TypeSet> inputs = kOnlyFloats;
  TypeSet output = kFloats;
  /// Left to the CPU provider where oneDNN need not be faster; option claims=all claims it, alone, too.
  bool by_choice = false;
  /// Whether outputs behind the first are made, too.
  bool all_outputs = false;

  TypeSet types(size_t input) const { return inputs[std::min(input, inputs.size() - 1)]; }
};

/// Null when the operator (or its version) has none.
const Lowering* FindLowering(const Node& node);

/// Every family's.
std::vector<std::span<const Lowering>> Lowerings();

std::span<const Lowering> ConvolutionLowerings();
std::span<const Lowering> DeconvolutionLowerings();
std::span<const Lowering> MatMulLowerings();
std::span<const Lowering> PoolingLowerings();
std::span<const Lowering> ElementwiseLowerings();
std::span<const Lowering> BatchNormalizationLowerings();
std::span<const Lowering> SoftmaxLowerings();
std::span<const Lowering> LrnLowerings();
std::span<const Lowering> MovementLowerings();
std::span<const Lowering> QuantizedConvLowerings();
std::span<const Lowering> QuantizedGemmLowerings();
std::span<const Lowering> QuantizationLowerings();
std::span<const Lowering> ReductionLowerings();
std::span<const Lowering> ResamplingLowerings();
std::span<const Lowering> RowNormalizationLowerings();
std::span<const Lowering> RecurrentLowerings();
std::span<const Lowering> AttentionLowerings();

/// Of operators that can be lowered whatever their attributes.
inline std::string RefuseNothing(const GraphViewer&, const Node&) { return {}; }

/// The elementwise function of a node as a oneDNN algorithm, for primitives and post-ops alike.
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha = 0;
  float beta = 0;
};
std::optional<Eltwise> AsEltwise(const GraphViewer& graph, const Node& node);

/// Whether oneDNN may make a number of NaN: its code takes the larger or the smaller of two operands, which is the bound
/// then.
bool LosesNan(const Eltwise& eltwise);

/// A primitive or a step of our own; its result lies as `x` does, or in rows.
MemoryIndex AddEltwise(ProgramBuilder& builder, MemoryIndex x, const Eltwise& eltwise);

/// Input `i`, null where it is left out or no constant.
const Tensor* ConstantInput(const GraphViewer& graph, const Node& node, size_t i);
/// The same of int64, as the list that it is.
std::optional<std::vector<int64_t>> ConstantIntegers(const GraphViewer& graph, const Node& node, size_t i);

/// Attributes of a primitive whose scratchpad is the program's.
inline dnnl::primitive_attr OwnScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

/// Lowers `node` and what follows it when it scales and shifts channels by constants.
bool LowerChannelAffine(ProgramBuilder& builder, const Node& node);

/// Matmuls and convolutions of fewer inputs for each output keep float32: rounding would take longer than it spares.
inline constexpr int64_t kFewestRounded = 16;

/// As many as count for a convolution of `channels` inputs in each group. Those of each channel by itself stand between
/// others, whose results are rounded already.
inline int64_t RoundedInputs(int64_t channels, int64_t window, int64_t group) {
  return group > 1 ? kFewestRounded : channels * window;
}

/// What the operands of a matmul or convolution of `k` inputs for each output are rounded to: what the
/// builder wants, but float32 below kFewestRounded (what is rounded anyway stays so) and where oneDNN has no fast
/// implementation. `describe(type)` gives the primitive's descriptor.
template <class Describe>
DataType OperandType(const ProgramBuilder& builder, int64_t k, const Describe& describe) {
  if (!builder.rounds() || (k < kFewestRounded && !builder.half_precision())) return DataType::f32;
  try {
    const bool is_slow =
        std::string_view(describe(builder.operand_type()).impl_info_str()).find("ref") != std::string_view::npos;
    return is_slow ? DataType::f32 : builder.operand_type();
  } catch (const dnnl::error&) {  // not of this shape
    return DataType::f32;
  }
}

/// The description of a convolution with as many operators fused into it as its fastest implementation takes; the others
/// are given back. `read` is what it reads; `describe` gets the output's layout (null: any) and the attributes.
template <class Describe>
auto DescribeFused(ProgramBuilder& builder, ProgramBuilder::Fusion& fusion, const std::vector<MemoryIndex>& read,
                   const Describe& describe) {
  dnnl::primitive_attr plain;
  plain.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto first = describe(nullptr, plain);
  const Desc layout = first.dst_desc();
  if (std::string_view(first.impl_info_str()).find("gemm") != std::string_view::npos) {
    // Convolution by GEMM runs post-ops with a second operand element by element: slower than a primitive of their own.
    const auto binary =
        std::find_if(fusion.ops.begin(), fusion.ops.end(), [](const auto& op) { return !op.eltwise.has_value(); });
    if (binary != fusion.ops.end()) builder.Unfuse(fusion, static_cast<size_t>(binary - fusion.ops.begin()));
  }
  builder.AddInPlace(fusion, layout, read);
  for (; !fusion.ops.empty(); builder.Unfuse(fusion, fusion.ops.size() - 1)) {
    try {
      const auto fused = describe(&layout, fusion.Attributes(layout));
      if (std::string_view(fused.impl_info_str()) == first.impl_info_str()) return fused;
    } catch (const dnnl::error&) {  // not with these operators
    }
  }
  return first;
}

/// A window fitted to an input, as oneDNN takes it.
struct WindowShape {
  Window window;
  Dims output;
};
WindowShape WindowShapeOf(const tessera::Window& fitted);

}  // namespace tessera::onednn
