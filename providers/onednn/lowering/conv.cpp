// Conv (1-22) -> convolution_forward, with bias and following elementwise operators inside.

#include <algorithm>

#include "base/cancellation.h"
#include "base/check.h"
#include "onednn/lowering/lowering.h"
#include "onednn/program/implementations.h"
#include "onednn/program/shared_weights.h"
#include "onednn/program/winograd.h"
#include "ops/nn/conv.h"

namespace tessera::onednn {
namespace {

std::string RefuseConv(const GraphViewer& graph, const Node& node) {
  const auto& x = graph.value(node.inputs[0]).type.shape;
  if (x->size() < 3 || x->size() > 5) return "oneDNN convolves one to three spatial dimensions";
  const auto& w = graph.value(node.inputs[1]).type.shape;
  if (w->size() != x->size()) return "weights and input have different ranks";
  const bool depthwise = ConvAttributes(node).group > 1 && (*w)[1].value == 1;
  if (x->size() == 5 && depthwise) return "oneDNN has only reference code for depthwise convolutions of volumes";
  return {};
}

/// Weights in plain layout and the bias of a convolution, with the scales and shifts that follow it multiplied in.
struct Parameters {
  MemoryIndex weights;
  std::optional<MemoryIndex> bias;
};

Parameters Fold(ProgramBuilder& builder, const Node& node, const Desc& weights, const ChannelAffine& affine) {
  const Tensor& w = *builder.constant(node, 1);
  const Tensor* b = builder.constant(node, 2);
  const int64_t channels = w.shape()[0];
  std::vector<Tensor> sources = affine.sources();
  sources.push_back(w);
  if (b != nullptr) sources.push_back(*b);
  std::string key = affine.Key() + LayoutKey(weights);
  for (const void* source : {w.unaligned_raw(), b == nullptr ? nullptr : b->unaligned_raw()}) {
    key.append(reinterpret_cast<const char*>(&source), sizeof(source));
  }
  std::optional<ChannelAffine::Numbers> numbers;
  const auto compute = [&]() -> const ChannelAffine::Numbers& {
    if (!numbers) numbers = affine.Compute(channels);
    return *numbers;
  };
  const auto folded = builder.weights().Derived("w" + key, sources, weights, [&](std::span<float> out) {
    const auto& scale = compute().scale;
    const auto* from = w.unaligned_data<float>();
    const size_t row = out.size() / static_cast<size_t>(channels);
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(LoadUnaligned(from + i) * scale[i / row]);
  });
  const Desc vector = Plain({channels});
  const auto bias = builder.weights().Derived("b" + key, sources, vector, [&](std::span<float> out) {
    const auto& by = compute();
    for (size_t c = 0; c < out.size(); ++c) {
      out[c] = static_cast<float>((b == nullptr ? 0.0 : b->values<float>()[c]) * by.scale[c] + by.shift[c]);
    }
  });
  return {builder.Constant(weights, folded), builder.Constant(vector, bias)};
}

/// The convolution that `arguments` are of, its parameters last, as one primitive for each box of its output; false, and
/// nothing done, where it stays whole. `implementation`: the name of the whole's.
bool AddInParts(ProgramBuilder& builder, const std::vector<Box>& boxes, const Window& window,
                std::string_view implementation, const std::vector<std::pair<int, MemoryIndex>>& whole,
                const ProgramBuilder::Fusion& fusion) {
  if (boxes.size() == 1) return false;
  struct PartOfConvolution {
    dnnl::convolution_forward primitive;
    Desc scratchpad;
    std::vector<std::pair<int, MemoryIndex>> arguments;
  };
  const MemoryIndex src = whole[0].second, weights = whole[1].second, dst = whole[2].second;
  const Desc bias = whole.size() > 3 ? builder.desc(whole[3].second) : Desc();
  std::vector<PartOfConvolution> parts;
  for (const Box& box : boxes) {
    CancellationPoint();
    const auto seen = PartOf(window, builder.dims(src), box);
    if (!seen) return false;
    const auto from = builder.Part(src, seen->input), to = builder.Part(dst, box);
    if (!from || !to) return false;
    auto arguments = whole;
    arguments[0].second = *from;
    arguments[2].second = *to;
    if (!builder.AddOperands(fusion, dst, box, arguments)) return false;
    const Desc out = builder.desc(*to);
    const auto pd = ConvolutionDesc(CpuEngine(), builder.desc(*from), builder.desc(weights),
                                    whole.size() > 3 ? &bias : nullptr, out, seen->window, fusion.Attributes(out));
    if (IsReference(pd.impl_info_str()) && !IsReference(implementation)) return false;
    parts.push_back({dnnl::convolution_forward(pd), pd.scratchpad_desc(), std::move(arguments)});
  }
  for (PartOfConvolution& part : parts) builder.Add(std::move(part.primitive), std::move(part.arguments), &part.scratchpad);
  return true;
}

/// Whether oneDNN has more than its reference code for what `describe` describes.
template <class Describe>
bool HasFast(const Describe& describe) {
  try {
    return !IsReference(describe().impl_info_str());
  } catch (const dnnl::error&) {
    return false;
  }
}

/// Weights, of these dimensions, and bias. What follows and scales or shifts channels is folded into constant ones; `value`
/// becomes what is computed then.
Parameters ParametersOf(ProgramBuilder& builder, const Node& node, const Dims& weights, const Dims& out,
                        ValueIndex& value) {
  const RegionValue w = builder.input(node, 1);
  const bool has_bias = builder.has_input(node, 2);
  if (has_bias) {
    const Dims dims = builder.input(node, 2).dims;
    Require(dims == Dims{w.dims[0]}, "B needs one element for each of {} outputs", w.dims[0]);
  }
  if (builder.constant(node, 1) != nullptr && (!has_bias || builder.constant(node, 2) != nullptr)) {
    ChannelAffine affine;
    builder.FollowAffine(affine, value, out);
    if (!affine.empty()) return Fold(builder, node, Plain(weights), affine);
  }
  const MemoryIndex rows = builder.InRows(w);
  Parameters parameters{builder.Alias(rows, Plain(weights, TypeOf(builder.desc(rows)))), std::nullopt};
  if (has_bias) parameters.bias = builder.InPlainLayout(builder.input(node, 2));
  return parameters;
}

double OperationsOf(const ConvolutionShape& shape) {
  return 2.0 * static_cast<double>(Elements(shape.out)) *
         static_cast<double>(shape.weights[1] * Elements(shape.window.kernel));
}

/// Adds oneDNN's primitive, or one for each part of a long convolution, with what follows `value` inside.
void AddConvolution(ProgramBuilder& builder, const Node& node, const ConvolutionShape& shape, ValueIndex value,
                    MemoryIndex x, const Parameters& parameters) {
  const Dims& out = shape.out;
  const Dims weights = builder.dims(parameters.weights);
  const Window& window = shape.window;
  const Desc bias_vector = Plain({shape.weights[0]});
  const Desc* bias = parameters.bias ? &bias_vector : nullptr;
  auto fusion = builder.FuseFollowers(value, out);
  bool by_rows = false;  // the images lie pixel after pixel, so that some of their rows can be computed by themselves
  const auto images = [&](const Dims& dims, DataType type) { return by_rows ? Nhwc(dims, type) : AnyLayout(dims, type); };
  const auto describe = [&](DataType type, const Desc* dst, const dnnl::primitive_attr& attr) {
    return ConvolutionDesc(CpuEngine(), images(shape.in, type), AnyLayout(weights, type), bias,
                           dst ? *dst : images(out, type), window, attr);
  };
  const DataType type = OperandType(builder, RoundedInputs(shape.weights[1], Elements(window.kernel), shape.group),
                                    [&](DataType operands) { return describe(operands, nullptr, {}); });
  if (IsLong(GemmNs(OperationsOf(shape), {}) / static_cast<double>(std::max<int64_t>(out[0], 1)))) {
    by_rows = true;
    by_rows = HasFast([&] { return describe(type, nullptr, OwnScratchpad()); });
  }
  std::vector<MemoryIndex> read = {x, parameters.weights};
  if (parameters.bias) read.push_back(*parameters.bias);
  const Desc layout = DescribeFused(builder, fusion, read, [&](const Desc* dst, const dnnl::primitive_attr& attr) {
                        return describe(type, dst, attr);
                      }).dst_desc();
  const auto pd = DescribeWanted<dnnl::convolution_forward>(builder, node, x, fusion, bias, [&] {
    return fusion.ops.empty() ? describe(type, nullptr, OwnScratchpad())
                              : describe(type, &layout, fusion.Attributes(layout));
  });
  const auto sum = fusion.destination();
  const MemoryIndex dst = sum ? *sum : builder.Temporary(pd.dst_desc());
  std::vector<std::pair<int, MemoryIndex>> arguments = {
      {DNNL_ARG_SRC, builder.InLayout(x, pd.src_desc())},
      {DNNL_ARG_WEIGHTS, builder.InLayout(parameters.weights, pd.weights_desc())},
      {DNNL_ARG_DST, dst}};
  if (parameters.bias) arguments.emplace_back(DNNL_ARG_BIAS, *parameters.bias);
  const bool any_rows = by_rows || IsReference(pd.impl_info_str());
  const auto boxes = BoxesOf(out, any_rows ? RowAxes() : std::vector<CutAxis>{CutAxis{.axis = 0}},
                             GemmNs(OperationsOf(shape), pd.impl_info_str()));
  if (AddInParts(builder, boxes, window, pd.impl_info_str(), arguments, fusion))
    return builder.SetFused(fusion, {out, dst});
  builder.AddFused(dnnl::convolution_forward(pd), std::move(arguments), pd.scratchpad_desc(), fusion, {out, dst});
}

void LowerConv(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0), w = builder.input(node, 1);
  const ConvAttributes attributes(node);
  const WindowShape window = WindowShapeOf(attributes.Fit(Shape(x.dims), Shape(w.dims), nullptr));
  Dims out = {x.dims[0], w.dims[0]};
  out.insert(out.end(), window.output.begin(), window.output.end());
  Dims weights = w.dims;
  if (attributes.group > 1) {
    weights[0] /= attributes.group;
    weights.insert(weights.begin(), attributes.group);
  }
  const ConvolutionShape shape{x.dims, w.dims, out, attributes.group, window.window};
  builder.CountOperations(OperationsOf(shape));
  ValueIndex value = node.outputs[0];
  const Parameters parameters = ParametersOf(builder, node, weights, out, value);
  if (const auto constant = builder.constant(parameters.weights); constant != nullptr && !builder.rounds() &&
                                                                  NamedImplementation(node).empty() &&
                                                                  SuitsWinograd(shape, node.hints.algorithm)) {
    return LowerWinograd(builder, shape, value, x.memory, constant, parameters.bias ? &*parameters.bias : nullptr);
  }
  AddConvolution(builder, node, shape, value, x.memory, parameters);
}

constexpr Lowering kConvolutionLowerings[] = {{"Conv", 1, kLatestVersion, false, RefuseConv, LowerConv}};

}  // namespace

std::span<const Lowering> ConvolutionLowerings() { return kConvolutionLowerings; }

WindowShape WindowShapeOf(const tessera::Window& fitted) {
  WindowShape shape{WindowOf(fitted), ToDims(fitted.output)};
  // A kernel of one has nothing to dilate, and oneDNN reads past it where it is told to.
  for (size_t i = 0; i < fitted.rank(); ++i) {
    if (shape.window.kernel[i] == 1) shape.window.dilations[i] = 0;
  }
  // oneDNN derives the output's size from the padding: give it the padding that yields this size.
  for (size_t i = 0; i < fitted.rank(); ++i) {
    shape.window.pad_end[i] =
        (fitted.output[i] - 1) * fitted.strides[i] + fitted.extent(i) - fitted.input[i] - fitted.begin[i];
  }
  return shape;
}

}  // namespace tessera::onednn
