// QLinearConv (10) and ConvInteger (10) -> convolution_forward of int8.

#include "base/check.h"
#include "onednn/lowering/lowering.h"
#include "onednn/program/quantized.h"
#include "ops/nn/conv.h"

namespace tessera::onednn {
namespace {

/// Where the inputs stand.
struct ConvInputs {
  size_t x_zero, w, w_zero;
};

ConvInputs InputsOf(const Node& node) { return node.op_type == "QLinearConv" ? ConvInputs{2, 3, 5} : ConvInputs{2, 1, 3}; }

std::string RefuseQuantizedConv(const GraphViewer& graph, const Node& node) {
  if (!HasQuantizedGemm()) return "oneDNN's 8-bit accumulators may saturate on processors without VNNI";
  const ConvInputs at = InputsOf(node);
  const auto& x = graph.value(node.inputs[0]).type.shape;
  if (x->size() < 3 || x->size() > 5) return "oneDNN convolves one to three spatial dimensions";
  if (graph.value(node.inputs[at.w]).type.shape->size() != x->size()) return "weights and input have different ranks";
  return RefuseQuantizedWeight(graph, node, at.w, at.w_zero, ChannelAxis::kFirst);
}

std::string RefuseQLinearConv(const GraphViewer& graph, const Node& node) {
  if (std::string reason = RefuseQuantizedConv(graph, node); !reason.empty()) return reason;
  const int64_t outputs = graph.constant(node.inputs[3])->shape()[0];
  for (const size_t i : {1, 2, 6, 7}) {
    if (!IsConstantOf(graph, node, i, 1, false))
      return "scales or zero points of its input or output are not single constants";
  }
  if (!IsConstantOf(graph, node, 4, outputs, false)) return "its weights' scales are not constants, one or one a channel";
  const bool has_bias = node.inputs.size() > 8 && node.inputs[8] != kNone;
  const Tensor* bias = has_bias ? graph.constant(node.inputs[8]) : nullptr;
  if (has_bias && (bias == nullptr || bias->num_elements() != outputs)) return "its bias is not a constant, one a channel";
  return {};
}

/// Beyond this float32, which oneDNN's accumulators of convolutions go through, has no longer every integer.
constexpr int64_t kLargestExact = int64_t{1} << 24;

std::string RefuseConvInteger(const GraphViewer& graph, const Node& node) {
  if (std::string reason = RefuseQuantizedConv(graph, node); !reason.empty()) return reason;
  const bool has_zeros = node.inputs.size() > 3 && node.inputs[3] != kNone;
  const QuantizedWeight weight{graph.constant(node.inputs[1]), has_zeros ? graph.constant(node.inputs[3]) : nullptr,
                               ChannelAxis::kFirst};
  return LargestAccumulator(weight) > kLargestExact ? "its accumulators may exceed 2^24, beyond which oneDNN rounds them"
                                                    : std::string();
}

struct QuantizedConvShape {
  WindowShape window;
  Dims weights, out;
  int64_t group;
};

QuantizedConvShape ShapeOf(const Node& node, const Dims& x, const Dims& w) {
  const ConvAttributes attributes(node);
  const int64_t group = attributes.group;
  QuantizedConvShape shape{WindowShapeOf(attributes.Fit(Shape(x), Shape(w), nullptr)), w, {x[0], w[0]}, group};
  shape.out.insert(shape.out.end(), shape.window.output.begin(), shape.window.output.end());
  if (group > 1) {
    shape.weights[0] /= group;
    shape.weights.insert(shape.weights.begin(), group);
  }
  return shape;
}

/// Takes up the zero point of x. What no padding adds to is a shift of the accumulators, else oneDNN counts what each
/// window covers.
void SetSourceZero(ProgramBuilder& builder, const Node& node, const Window& window, std::span<const int32_t> weight_sums,
                   Requantization& result) {
  const size_t x_zero = InputsOf(node).x_zero;
  if (!builder.has_input(node, x_zero)) return;
  const Tensor* zero = builder.constant(node, x_zero);
  const auto is_zero = [](int64_t pad) { return pad <= 0; };
  const bool padded = !std::all_of(window.pad_begin.begin(), window.pad_begin.end(), is_zero) ||
                      !std::all_of(window.pad_end.begin(), window.pad_end.end(), is_zero);
  if (zero == nullptr || padded) {
    if (zero == nullptr || QuantizedAt(*zero, 0) != 0) result.source_zero = AddScalar(builder, node, x_zero, DataType::s32);
    return;
  }
  const int32_t point = QuantizedAt(*zero, 0);
  if (point == 0) return;
  result.shifts.resize(weight_sums.size());
  for (size_t c = 0; c < weight_sums.size(); ++c)
    result.shifts[c] = static_cast<int32_t>(result.shifts[c] - int64_t{point} * weight_sums[c]);
}

void LowerQuantizedConv(ProgramBuilder& builder, const Node& node) {
  const ConvInputs at = InputsOf(node);
  const RegionValue x = builder.input(node, 0);
  const Tensor& w = *builder.constant(node, at.w);
  const QuantizedConvShape shape = ShapeOf(node, x.dims, ToDims(w.shape()));
  builder.CountOperations(2.0 * static_cast<double>(Elements(shape.out)) *
                          static_cast<double>(Elements(shape.weights) / w.shape()[0]));
  const SignedWeight weight = AddSigned(builder, {&w, builder.constant(node, at.w_zero), ChannelAxis::kFirst});
  Requantization result;
  DataType type = DataType::s32;
  if (node.op_type == "QLinearConv") {
    type = DataTypeOf(builder.region().value(node.outputs[0]).type.element);
    result.scales = CombinedScales(*builder.constant(node, 1), *builder.constant(node, 4), *builder.constant(node, 6));
    if (const Tensor* bias = builder.constant(node, 8))
      result.shifts.assign(bias->values<int32_t>().begin(), bias->values<int32_t>().end());
    if (QuantizedAt(*builder.constant(node, 7), 0) != 0) result.result_zero = AddScalar(builder, node, 7, DataType::s32);
  }
  SetSourceZero(builder, node, shape.window.window, weight.sums, result);
  const Dims shift_dims = {w.shape()[0]};
  const auto shift = result.ShiftDesc(shift_dims);
  const auto pd =
      ConvolutionDesc(CpuEngine(), AnyLayout(x.dims, TypeOf(builder.desc(x.memory))),
                      AnyLayout(shape.weights, DataType::s8), shift ? &*shift : nullptr, AnyLayout(shape.out, type),
                      shape.window.window, result.Attributes(shape.group > 1 ? 3 : 1, 1 << 1));
  const MemoryIndex dst = builder.Temporary(pd.dst_desc());
  const MemoryIndex weights = builder.Alias(weight.memory, Plain(shape.weights, DataType::s8));
  std::vector<std::pair<int, MemoryIndex>> arguments = {{DNNL_ARG_SRC, builder.InLayout(x.memory, pd.src_desc())},
                                                        {DNNL_ARG_WEIGHTS, builder.InLayout(weights, pd.weights_desc())},
                                                        {DNNL_ARG_DST, dst}};
  result.AddArguments(builder, shift_dims, arguments);
  const Desc scratchpad = pd.scratchpad_desc();
  builder.Add(dnnl::convolution_forward(pd), std::move(arguments), &scratchpad);
  builder.SetOutput(node, {shape.out, dst});
}

constexpr TypeSet kQLinearConvTypes[] = {kQuantized, kSingles, kQuantized, kQuantized,   kSingles,
                                         kQuantized, kSingles, kQuantized, kAccumulators};
constexpr TypeSet kConvIntegerTypes[] = {kQuantized};

constexpr Lowering kQuantizedConvLowerings[] = {
    {"QLinearConv", 10, kLatestVersion, false, RefuseQLinearConv, LowerQuantizedConv, "", kQLinearConvTypes, kQuantized},
    {"ConvInteger", 10, kLatestVersion, false, RefuseConvInteger, LowerQuantizedConv, "", kConvIntegerTypes,
     kAccumulators}};

}  // namespace

std::span<const Lowering> QuantizedConvLowerings() { return kQuantizedConvLowerings; }

}  // namespace tessera::onednn
