// MatMulInteger (10), QLinearMatMul (10) and MatMulIntegerToFloat (com.microsoft) -> matmul of uint8 by int8.

#include "base/check.h"
#include "onednn/lowering/lowering.h"
#include "onednn/program/output_stage.h"
#include "onednn/program/quantized.h"
#include "onednn/program/shared_weights.h"

namespace tessera::onednn {
namespace {

/// Where the inputs stand.
struct IntegerMatMulInputs {
  size_t b, a_zero, b_zero;
};

IntegerMatMulInputs IntegerMatMulInputsOf(const Node& node) {
  if (node.op_type == "QLinearMatMul") return {3, 2, 5};
  return node.op_type == "MatMulInteger" ? IntegerMatMulInputs{1, 2, 3} : IntegerMatMulInputs{1, 4, 5};
}

bool HasInput(const Node& node, size_t i) { return i < node.inputs.size() && node.inputs[i] != kNone; }

/// Elements of an input whose shape is known; -1 otherwise, 0 where it is missing.
int64_t CountOf(const GraphViewer& graph, const Node& node, size_t i) {
  if (!HasInput(node, i)) return 0;
  const auto& dims = graph.value(node.inputs[i]).type.shape;
  int64_t count = 1;
  for (const Dimension& dim : *dims) count = dim.known() && count >= 0 ? count * dim.value : -1;
  return count;
}

std::string RefuseQuantizedGemm(const GraphViewer& graph, const Node& node) {
  if (!HasQuantizedGemm()) return "oneDNN's 8-bit accumulators may saturate on processors without VNNI";
  const IntegerMatMulInputs at = IntegerMatMulInputsOf(node);
  const auto& a = *graph.value(node.inputs[0]).type.shape;
  const auto& b = *graph.value(node.inputs[at.b]).type.shape;
  if (a.size() < 2 || b.size() < 2) return "vector operands are left to the CPU provider";
  if (b.size() > 2 && a.size() != b.size()) return "stacks of different depth are left to the CPU provider";
  for (size_t i = 0; b.size() > 2 && i + 2 < b.size(); ++i) {
    const bool equal = (a[i].known() || !a[i].symbol.empty()) && a[i] == b[i];
    if (!equal) return "the stacks' sizes are not known to be equal";
  }
  if (CountOf(graph, node, at.a_zero) > 1 || CountOf(graph, node, at.a_zero) < 0)
    return "zero points for rows of A are left to the CPU provider";
  const int64_t zeros = CountOf(graph, node, at.b_zero);
  const bool for_columns =
      b.back().known() && zeros == b.back().value && graph.value(node.inputs[at.b_zero]).type.shape->size() == 1;
  if (zeros > 1 || zeros < 0) return for_columns ? "" : "zero points of B are neither one nor one a column";
  return {};
}

std::string RefuseQLinearMatMul(const GraphViewer& graph, const Node& node) {
  if (std::string reason = RefuseQuantizedGemm(graph, node); !reason.empty()) return reason;
  for (const size_t i : {1, 6, 7}) {
    if (!IsConstantOf(graph, node, i, 1, false)) return "scales or zero points of A or Y are not single constants";
  }
  const auto& columns = graph.value(node.inputs[3]).type.shape->back();
  const Tensor* scales = graph.constant(node.inputs[4]);
  if (scales == nullptr || (scales->num_elements() != 1 &&
                            (scales->shape().rank() != 1 || !columns.known() || scales->num_elements() != columns.value))) {
    return "B's scales are not constants, one or one a column";
  }
  return {};
}

std::string RefuseMatMulIntegerToFloat(const GraphViewer& graph, const Node& node) {
  if (std::string reason = RefuseQuantizedGemm(graph, node); !reason.empty()) return reason;
  if (CountOf(graph, node, 2) != 1) return "scales for rows of A are left to the CPU provider";
  const auto& columns = graph.value(node.inputs[1]).type.shape->back();
  const auto fits = [&](size_t i) {
    const auto& shape = *graph.value(node.inputs[i]).type.shape;
    return shape.size() == 1 && columns.known() && shape[0] == columns;
  };
  if (CountOf(graph, node, 3) != 1 && !fits(3)) return "B's scales are neither one nor one a column";
  return HasInput(node, 6) && !fits(6) ? "its bias is not one a column" : std::string();
}

struct QuantizedGemmShape {
  Dims a, b, out, result;  // as oneDNN multiplies, then as the model has it
  OutputStageShape matmul;
};

QuantizedGemmShape MatMulShapeOf(const Dims& a, const Dims& b) {
  const int64_t k = a.back(), n = b.back();
  Require(b[b.size() - 2] == k, "K is {} in A and {} in B", k, b[b.size() - 2]);
  QuantizedGemmShape shape{a, b, a, a, {}};
  shape.result.back() = n;
  shape.out = shape.result;
  for (size_t i = 0; b.size() > 2 && i + 2 < a.size(); ++i) {
    Require(a[i] == b[i], "stacks of {} and {} matrices do not match", a[i], b[i]);
    shape.matmul.matrices = CheckedMul(shape.matmul.matrices, a[i]);
  }
  if (b.size() == 2) {  // one matrix for every stack: a single tall matmul
    shape.a = {Elements(Dims(a.begin(), a.end() - 1)), k};
    shape.out = {shape.a[0], n};
  }
  shape.matmul.rows = shape.a[shape.a.size() - 2];
  shape.matmul.depth = k;
  shape.matmul.columns = n;
  return shape;
}

/// Quantized values row-major as `wanted`, uint8 or int8.
MemoryIndex AddQuantized(ProgramBuilder& builder, const RegionValue& value, const Dims& dims, DataType wanted) {
  const MemoryIndex plain = builder.InPlainLayout(value);
  const Desc desc = Plain(dims, wanted);
  if (TypeOf(builder.desc(plain)) == wanted) return builder.Alias(plain, desc);
  const MemoryIndex transposed = builder.Temporary(desc);
  builder.AddNative(std::make_shared<FlipSignStep>(Elements(dims)), {plain, transposed});
  return transposed;
}

void AddMatmul(ProgramBuilder& builder, const dnnl::matmul::primitive_desc& pd, MemoryIndex a, MemoryIndex b,
               MemoryIndex dst, const Requantization& result, const Dims& shift_dims) {
  std::vector<std::pair<int, MemoryIndex>> arguments = {
      {DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, builder.InLayout(b, pd.weights_desc())}, {DNNL_ARG_DST, dst}};
  result.AddArguments(builder, shift_dims, arguments);
  const Desc scratchpad = pd.scratchpad_desc();
  builder.Add(dnnl::matmul(pd), std::move(arguments), &scratchpad);
}

/// Quantized values from weights: all in the primitive.
void AddRequantized(ProgramBuilder& builder, const Node& node, const QuantizedGemmShape& shape, const RegionValue& a) {
  const SignedWeight weight =
      AddSigned(builder, {builder.constant(node, 3), builder.constant(node, 5), ChannelAxis::kLast});
  Requantization result;
  result.scales = CombinedScales(*builder.constant(node, 1), *builder.constant(node, 4), *builder.constant(node, 6));
  if (const int32_t zero = QuantizedAt(*builder.constant(node, 2), 0); zero != 0) {
    for (const int32_t sum : weight.sums) result.shifts.push_back(static_cast<int32_t>(-int64_t{zero} * sum));
  }
  if (QuantizedAt(*builder.constant(node, 7), 0) != 0) result.result_zero = AddScalar(builder, node, 7, DataType::s32);
  const DataType from = TypeOf(builder.desc(a.memory)),
                 to = DataTypeOf(builder.region().value(node.outputs[0]).type.element);
  const Dims shift_dims = {1, shape.matmul.columns};
  const auto shift = result.ShiftDesc(shift_dims);
  const Desc out = Plain(shape.out, to);
  const auto pd = MatmulDesc(CpuEngine(), Plain(shape.a, from), AnyLayout(shape.b, DataType::s8), shift ? &*shift : nullptr,
                             out, result.Attributes(1 << 1, 1 << 1));
  const MemoryIndex dst = builder.Temporary(Plain(shape.result, to));
  AddMatmul(builder, pd, builder.Alias(builder.InPlainLayout(a), Plain(shape.a, from)), weight.memory,
            builder.Alias(dst, out), result, shift_dims);
  builder.SetOutput(node, {shape.result, dst});
}

/// The zero point of an operand whose values were made signed or unsigned when they are not of type `multiplied`.
ZeroPoint ZeroOf(ProgramBuilder& builder, const Node& node, size_t quantized, size_t zero, ElementType multiplied) {
  ZeroPoint point;
  point.is_signed = builder.region().value(node.inputs[quantized]).type.element == ElementType::kInt8;
  if (builder.has_input(node, zero)) point.count = Elements(builder.input(node, zero).dims);
  if (point.is_signed != (multiplied == ElementType::kInt8)) point.shift = point.is_signed ? 128 : -128;
  return point;
}

/// Whether the operand is known to have no zero point after that.
bool IsNeverZero(ProgramBuilder& builder, const Node& node, size_t zero, const ZeroPoint& point) {
  if (!builder.has_input(node, zero)) return point.shift == 0;
  const Tensor* quantized = builder.constant(node, zero);
  if (quantized == nullptr) return false;
  for (int64_t i = 0; i < quantized->num_elements(); ++i) {
    if (QuantizedAt(*quantized, i) + point.shift != 0) return false;
  }
  return true;
}

/// Where what follows the accumulators is to lie, and how it is made.
MemoryIndex SetResult(ProgramBuilder& builder, const Node& node, const QuantizedGemmShape& shape,
                      OutputStageStep::Settings& settings, OutputStageMemories& memories) {
  using Result = OutputStageStep::Result;
  if (node.op_type == "MatMulInteger") return memories.accumulators;
  const auto plain = [&](size_t i) { return builder.InPlainLayout(builder.input(node, i)); };
  const ElementType type = builder.region().value(node.outputs[0]).type.element;
  if (node.op_type == "QLinearMatMul") {
    settings.result = type == ElementType::kInt8 ? Result::kInt8 : Result::kUInt8;
    settings.scales = CombinedScales(*builder.constant(node, 1), *builder.constant(node, 4), *builder.constant(node, 6));
    settings.result_zero = QuantizedAt(*builder.constant(node, 7), 0);
  } else {
    settings.result = Result::kFloat;
    memories.a_scale = plain(2);
    memories.b_scale = plain(3);
    settings.b_scales = Elements(builder.input(node, 3).dims);
    if (builder.has_input(node, 6)) memories.bias = plain(6);
  }
  return memories.out = builder.Temporary(Plain(shape.result, DataTypeOf(type)));
}

/// Sums from oneDNN, uint8 by int8 without attributes, which are exact; a step of our own does the rest.
void AddExact(ProgramBuilder& builder, const Node& node, const QuantizedGemmShape& shape, const RegionValue& a,
              const RegionValue& b) {
  const IntegerMatMulInputs at = IntegerMatMulInputsOf(node);
  const bool constant = builder.constant(node, at.b) != nullptr;
  OutputStageStep::Settings settings;
  settings.shape = shape.matmul;
  settings.a = ZeroOf(builder, node, 0, at.a_zero, ElementType::kUInt8);
  settings.b = ZeroOf(builder, node, at.b, at.b_zero, ElementType::kInt8);
  const bool shifts_a = !IsNeverZero(builder, node, at.a_zero, settings.a),
             shifts_b = !IsNeverZero(builder, node, at.b_zero, settings.b);
  OutputStageMemories memories;
  const MemoryIndex quantized = AddQuantized(builder, a, shape.a, DataType::u8);
  MemoryIndex weights;
  const Dims sums_dims = {shape.matmul.matrices * shape.matmul.columns};
  if (constant && shape.b.size() == 2) {
    const std::vector<uint8_t> middle = {128};
    const Tensor* given = builder.constant(node, at.b);
    const Tensor half = Tensor::Of<uint8_t>(Shape{1}, middle);
    const SignedWeight transposed =
        AddSigned(builder, {given, given->is(ElementType::kUInt8) ? &half : nullptr, ChannelAxis::kLast});
    weights = transposed.memory;
    const Desc desc = Plain(sums_dims, DataType::s32);
    if (shifts_a) memories.column_sums = builder.Constant(desc, SharedWeights::Made<int32_t>(desc, transposed.sums));
  } else {
    weights = AddQuantized(builder, b, shape.b, DataType::s8);
    settings.adds_columns = shifts_a;
    if (shifts_a) {
      memories.b = weights;
      memories.column_sums = builder.Temporary(Plain(sums_dims, DataType::s32));
    }
  }
  const MemoryIndex result = builder.Temporary(Plain(shape.result, DataType::s32));
  memories.accumulators = builder.Alias(result, Plain(shape.out, DataType::s32));
  const Desc b_desc = constant && shape.b.size() == 2 ? AnyLayout(shape.b, DataType::s8) : Plain(shape.b, DataType::s8);
  const bool nothing = shape.matmul.depth == 0;  // the step sets the accumulators, then
  if (!nothing) {
    const auto pd = MatmulDesc(CpuEngine(), Plain(shape.a, DataType::u8), b_desc, nullptr, Plain(shape.out, DataType::s32),
                               Requantization().Attributes(0, 0));
    AddMatmul(builder, pd, quantized, weights, memories.accumulators, {}, {});
  }
  if (shifts_b) memories.a = quantized;
  const auto zero = [&](size_t i) {
    return builder.has_input(node, i) ? builder.InPlainLayout(builder.input(node, i)) : -1;
  };
  if (shifts_a) memories.a_zero = zero(at.a_zero);
  if (shifts_b) memories.b_zero = zero(at.b_zero);
  if (!shifts_a) settings.a = ZeroPoint{};
  const MemoryIndex lies = SetResult(builder, node, shape, settings, memories);
  if (nothing || shifts_a || shifts_b || settings.result != OutputStageStep::Result::kAccumulators) {
    const auto step = std::make_shared<OutputStageStep>(std::move(settings), memories);
    builder.AddNative(step, step->arguments());
  }
  builder.SetOutput(node, {shape.result, lies == memories.accumulators ? result : lies});
}

void LowerQuantizedGemm(ProgramBuilder& builder, const Node& node) {
  const IntegerMatMulInputs at = IntegerMatMulInputsOf(node);
  const RegionValue a = builder.input(node, 0), b = builder.input(node, at.b);
  const QuantizedGemmShape shape = MatMulShapeOf(a.dims, b.dims);
  if (Elements(shape.result) == 0) {
    return builder.SetOutput(
        node, {shape.result,
               builder.Temporary(Plain(shape.result, DataTypeOf(builder.region().value(node.outputs[0]).type.element)))});
  }
  builder.CountOperations(2.0 * static_cast<double>(Elements(shape.result)) * static_cast<double>(shape.matmul.depth));
  const bool fused = shape.matmul.depth > 0 && node.op_type == "QLinearMatMul" && b.dims.size() == 2 &&
                     IsConstantOf(builder.region(), node, 2, 1, false) &&
                     RefuseQuantizedWeight(builder.region(), node, 3, 5, ChannelAxis::kLast).empty();
  return fused ? AddRequantized(builder, node, shape, a) : AddExact(builder, node, shape, a, b);
}

constexpr TypeSet kMatMulIntegerTypes[] = {kQuantized};
constexpr TypeSet kQLinearMatMulTypes[] = {kQuantized, kSingles,   kQuantized, kQuantized,
                                           kSingles,   kQuantized, kSingles,   kQuantized};
constexpr TypeSet kToFloatTypes[] = {kQuantized, kQuantized, kSingles, kSingles, kQuantized, kQuantized, kSingles};

constexpr Lowering kQuantizedGemmLowerings[] = {
    {"MatMulInteger", 10, kLatestVersion, false, RefuseQuantizedGemm, LowerQuantizedGemm, "", kMatMulIntegerTypes,
     kAccumulators},
    {"QLinearMatMul", 10, kLatestVersion, false, RefuseQLinearMatMul, LowerQuantizedGemm, "", kQLinearMatMulTypes,
     kQuantized},
    {"MatMulIntegerToFloat", 1, kLatestVersion, false, RefuseMatMulIntegerToFloat, LowerQuantizedGemm, "com.microsoft",
     kToFloatTypes, kSingles}};

}  // namespace

std::span<const Lowering> QuantizedGemmLowerings() { return kQuantizedGemmLowerings; }

}  // namespace tessera::onednn
