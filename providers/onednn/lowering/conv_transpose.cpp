// ConvTranspose (1-22, with given pads) -> deconvolution_forward, with bias and following elementwise operators inside;
// where windows do not meet, a convolution of single pixels.

#include <algorithm>
#include <array>

#include "base/cancellation.h"
#include "base/check.h"
#include "onednn/lowering/lowering.h"
#include "ops/nn/conv_transpose.h"

namespace tessera::onednn {
namespace {

/// Whether one image, nothing of which is dense in the input and in the output, takes longer than a cancelled run may wait;
/// of images or windows whose size is not known, whether large windows may.
bool MayBeLong(const SymbolicShape& x, const SymbolicShape& w) {
  constexpr double kMostTaps = 64;
  double operations = 2, taps = 1;
  bool known = true;
  for (size_t i = 1; i < x.size(); ++i) {
    operations *=
        static_cast<double>(std::max<int64_t>(x[i].value, 0)) * static_cast<double>(std::max<int64_t>(w[i].value, 0));
    if (i == 1) continue;
    known = known && x[i].known() && w[i].known();
    taps *= w[i].known() ? static_cast<double>(w[i].value) : kMostTaps + 1;
  }
  return IsLong(GemmNs(operations, {})) || (!known && taps > kMostTaps);
}

/// oneDNN finds the input's size from the output's: of as much padding as the stride it would be another one.
bool PadsByStrides(const ConvTransposeAttributes& attributes) {
  const Shape &padding = attributes.output_padding, &strides = attributes.window.strides();
  for (size_t i = 0; i < padding.rank(); ++i) {
    if (padding[i] >= (i < strides.rank() ? strides[i] : 1)) return true;
  }
  return false;
}

std::string RefuseConvTranspose(const GraphViewer& graph, const Node& node) {
  const auto& x = graph.value(node.inputs[0]).type.shape;
  if (x->size() < 3 || x->size() > 5) return "oneDNN convolves one to three spatial dimensions";
  if (graph.value(node.inputs[1]).type.shape->size() != x->size()) return "weights and input have different ranks";
  const ConvTransposeAttributes attributes(node);
  if (attributes.output_shape.rank() > 0) return "output_shape is left to the CPU provider";
  if (PadsByStrides(attributes)) return "output_padding that is not below the stride is left to the CPU provider";
  if (MayBeLong(*x, *graph.value(node.inputs[1]).type.shape))
    return "an image takes longer than cancelled runs may wait, and oneDNN cannot be interrupted";
  return attributes.window.pads_to_same() ? "auto_pad is left to the CPU provider" : "";
}

/// Windows that neither meet nor leave gaps, nor are cut: each pixel of the input makes a block of the output by itself.
bool IsTiled(const Window& window, const Dims& x, const Dims& out) {
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    if (window.kernel[i] != window.strides[i] || window.dilations[i] != 0 || window.pad_begin[i] != 0) return false;
    if (out[i + 2] != x[i + 2] * window.strides[i]) return false;
  }
  return true;
}

/// A plain [inputs, outputs, window...] as the weights of a convolution whose outputs are the blocks' elements: those of
/// each place in the window together.
MemoryIndex BlockWeights(ProgramBuilder& builder, const RegionValue& w, const Dims& point) {
  const Dims kernel(w.dims.begin() + 2, w.dims.end());
  Dims dims = kernel, strides;
  int64_t stride = Elements(kernel);
  for (int64_t size : kernel) strides.push_back(stride /= size);
  for (const int64_t each : {w.dims[1], w.dims[0]}) dims.push_back(each);
  for (const int64_t each : {Elements(kernel), w.dims[1] * Elements(kernel)}) strides.push_back(each);
  const MemoryIndex transposed = builder.Alias(builder.InPlainLayout(w), Desc(dims, DataType::f32, strides));
  return builder.Alias(builder.InLayout(transposed, Plain(dims)), Plain(point));
}

/// Blocks that lie as channels of single pixels to where they belong in an image whose channels are last.
void PlaceBlocks(ProgramBuilder& builder, MemoryIndex blocks, MemoryIndex image, const Dims& x, const Dims& kernel,
                 int64_t outputs) {
  const size_t rank = kernel.size();
  Dims cells = {x[0]}, from(2 * rank + 2), to(2 * rank + 2);
  for (size_t i = 0; i < rank; ++i) {
    cells.push_back(x[i + 2]);
    cells.push_back(kernel[i]);
  }
  cells.push_back(outputs);
  from.back() = to.back() = 1;
  int64_t in_block = outputs, in_image = outputs, pixel = outputs * Elements(kernel);
  for (size_t i = rank; i-- > 0;) {
    from[2 * i + 2] = in_block;
    from[2 * i + 1] = pixel;
    to[2 * i + 2] = in_image;
    to[2 * i + 1] = in_image * kernel[i];
    in_block = CheckedMul(in_block, kernel[i]);
    pixel = CheckedMul(pixel, x[i + 2]);
    in_image = CheckedMul(in_image, CheckedMul(kernel[i], x[i + 2]));
  }
  from[0] = pixel;
  to[0] = in_image;
  const DataType type = TypeOf(builder.desc(blocks));
  builder.Reorder(builder.Alias(blocks, Desc(cells, type, from)), builder.Alias(image, Desc(cells, type, to)));
}

/// False, and nothing is done, where the bias is no constant of float32.
bool LowerTiled(ProgramBuilder& builder, const Node& node, const RegionValue& x, const RegionValue& w, const Window& window,
                const Dims& out) {
  const Tensor* b = builder.constant(node, 2);
  if (builder.has_input(node, 2) && (b == nullptr || !b->is(ElementType::kFloat))) return false;
  const int64_t taps = Elements(window.kernel), outputs = w.dims[1];
  const Dims ones(window.kernel.size(), 1), zeros(window.kernel.size(), 0);
  Dims point = {taps * outputs, w.dims[0]}, columns_dims = {x.dims[0], taps * outputs};
  point.insert(point.end(), ones.begin(), ones.end());
  columns_dims.insert(columns_dims.end(), x.dims.begin() + 2, x.dims.end());
  const Window single{.kernel = ones, .strides = ones, .dilations = zeros, .pad_begin = zeros, .pad_end = zeros};
  const Desc bias = Plain({taps * outputs});
  const auto describe = [&](DataType type, const dnnl::primitive_attr& attr) {
    return ConvolutionDesc(CpuEngine(), AnyLayout(x.dims, type), AnyLayout(point, type), b != nullptr ? &bias : nullptr,
                           Nhwc(columns_dims, type), single, attr);
  };
  const DataType type = OperandType(builder, w.dims[0], [&](DataType operands) { return describe(operands, {}); });
  auto fusion = builder.FuseFollowers(node.outputs[0], out);
  // Other operands lie as the result does, not as the blocks.
  const auto binary =
      std::find_if(fusion.ops.begin(), fusion.ops.end(), [](const auto& op) { return !op.eltwise.has_value(); });
  builder.Unfuse(fusion, static_cast<size_t>(binary - fusion.ops.begin()));
  const auto pd = DescribeFused(builder, fusion, {x.memory},
                                [&](const Desc*, const dnnl::primitive_attr& attr) { return describe(type, attr); });
  const MemoryIndex blocks = builder.Temporary(pd.dst_desc()), image = builder.Temporary(Nhwc(out, type));
  const MemoryIndex weights = BlockWeights(builder, w, point);
  std::vector<std::pair<int, MemoryIndex>> arguments = {{DNNL_ARG_SRC, builder.InLayout(x.memory, pd.src_desc())},
                                                        {DNNL_ARG_WEIGHTS, builder.InLayout(weights, pd.weights_desc())},
                                                        {DNNL_ARG_DST, blocks}};
  if (b != nullptr) {
    std::vector<float> repeated;
    for (int64_t i = 0; i < taps; ++i)
      repeated.insert(repeated.end(), b->values<float>().begin(), b->values<float>().end());
    arguments.emplace_back(DNNL_ARG_BIAS, builder.Constant(Dims{taps * outputs}, repeated));
  }
  const Desc scratchpad = pd.scratchpad_desc();
  builder.Add(dnnl::convolution_forward(pd), std::move(arguments), &scratchpad);
  PlaceBlocks(builder, blocks, image, x.dims, window.kernel, outputs);
  builder.SetFused(fusion, {out, image});
  return true;
}

/// ONNX has inputs before outputs: [groups * inputs, outputs, kernel]; oneDNN groups, outputs, inputs, kernel.
Desc WeightsOf(const Dims& w, int64_t group) {
  const Dims kernel(w.begin() + 2, w.end());
  int64_t points = Elements(kernel);
  Dims weights = {group, w[1], w[0] / group};
  Dims strides = {weights[2] * weights[1] * points, points, weights[1] * points};
  for (int64_t size : kernel) {
    weights.push_back(size);
    strides.push_back(points /= size);
  }
  if (group == 1) {
    weights.erase(weights.begin());
    strides.erase(strides.begin());
  }
  return {weights, DataType::f32, strides};
}

/// The output's dimensions.
Dims OutputOf(const ConvTransposeAttributes& attributes, const tessera::Window& fitted, int64_t images,
              const Shape& weights) {
  Dims out = {images, attributes.Outputs(weights)};
  for (size_t i = 0; i < fitted.rank(); ++i) {
    out.push_back(fitted.input[i]);
    Require(out.back() > 0, "the output has {} elements in dimension {}", out.back(), i + 2);
  }
  return out;
}

/// The deconvolution that `whole` are the arguments of, its bias last, as a primitive for some images each; false where it
/// stays whole.
bool AddInParts(ProgramBuilder& builder, const std::vector<Box>& boxes, const Window& window, const Desc& weights,
                const std::vector<std::pair<int, MemoryIndex>>& whole, const ProgramBuilder::Fusion& fusion) {
  if (boxes.size() == 1) return false;
  const MemoryIndex src = whole[0].second, dst = whole[2].second;
  const Desc bias = whole.size() > 3 ? builder.desc(whole[3].second) : Desc();
  for (const Box& box : boxes) {
    CancellationPoint();
    const Dims seen = builder.dims(src);
    Box input{Dims(seen.size(), 0), seen};
    input.first[0] = box.first[0];
    input.count[0] = box.count[0];
    const auto from = builder.Part(src, input), to = builder.Part(dst, box);
    auto arguments = whole;
    if (!from || !to || !builder.AddOperands(fusion, dst, box, arguments)) return false;
    arguments[0].second = *from;
    arguments[2].second = *to;
    const Desc out = builder.desc(*to);
    const auto pd = DeconvolutionDesc(CpuEngine(), builder.desc(*from), weights, whole.size() > 3 ? &bias : nullptr, out,
                                      window, fusion.Attributes(out));
    const Desc scratchpad = pd.scratchpad_desc();
    builder.Add(dnnl::deconvolution_forward(pd), std::move(arguments), &scratchpad);
  }
  return true;
}

void LowerConvTranspose(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0), w = builder.input(node, 1);
  const ConvTransposeAttributes attributes(node);
  const Shape weights_shape(w.dims);
  const tessera::Window fitted = attributes.Fit(Shape(x.dims), weights_shape, nullptr);
  const Window window = WindowOf(fitted);
  const Dims out = OutputOf(attributes, fitted, x.dims[0], weights_shape);
  const bool has_bias = builder.has_input(node, 2);
  if (has_bias) {
    const Dims dims = builder.input(node, 2).dims;
    Require(dims == Dims{out[1]}, "B needs one element for each of {} outputs", out[1]);
  }
  const double operations =
      2.0 * static_cast<double>(Elements(x.dims)) * static_cast<double>(w.dims[1] * Elements(window.kernel));
  builder.CountOperations(operations);
  if (attributes.group == 1 && IsTiled(window, x.dims, out) && LowerTiled(builder, node, x, w, window, out)) return;
  const Desc grouped = WeightsOf(w.dims, attributes.group);
  const MemoryIndex weights = builder.Alias(builder.InPlainLayout(w), grouped);
  const Desc bias = Plain({out[1]});
  auto fusion = builder.FuseFollowers(node.outputs[0], out);
  std::vector<MemoryIndex> read = {x.memory, weights};
  if (has_bias) read.push_back(builder.InPlainLayout(builder.input(node, 2)));
  const auto pd = DescribeFused(builder, fusion, read, [&](const Desc* dst, const dnnl::primitive_attr& attr) {
    return DeconvolutionDesc(CpuEngine(), AnyLayout(x.dims), AnyLayout(DimsOf(grouped)), has_bias ? &bias : nullptr,
                             dst ? *dst : AnyLayout(out), window, attr);
  });
  const auto sum = fusion.destination();
  const MemoryIndex dst = sum ? *sum : builder.Temporary(pd.dst_desc());
  std::vector<std::pair<int, MemoryIndex>> arguments = {{DNNL_ARG_SRC, builder.InLayout(x.memory, pd.src_desc())},
                                                        {DNNL_ARG_WEIGHTS, builder.InLayout(weights, pd.weights_desc())},
                                                        {DNNL_ARG_DST, dst}};
  if (has_bias) arguments.emplace_back(DNNL_ARG_BIAS, read.back());
  const auto boxes = BoxesOf(out, std::array{CutAxis{0}}, GemmNs(operations, pd.impl_info_str()));
  if (AddInParts(builder, boxes, window, pd.weights_desc(), arguments, fusion)) return builder.SetFused(fusion, {out, dst});
  builder.AddFused(dnnl::deconvolution_forward(pd), std::move(arguments), pd.scratchpad_desc(), fusion, {out, dst});
}

constexpr Lowering kDeconvolutionLowerings[] = {
    {"ConvTranspose", 1, kLatestVersion, false, RefuseConvTranspose, LowerConvTranspose}};

}  // namespace

std::span<const Lowering> DeconvolutionLowerings() { return kDeconvolutionLowerings; }

}  // namespace tessera::onednn
