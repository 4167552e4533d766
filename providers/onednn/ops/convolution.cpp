// Conv (1-22) -> convolution_forward, with bias and following elementwise operators inside.

#include <algorithm>

#include "base/check.h"
#include "lowering.h"

namespace tessera::onednn {
namespace {

std::string RefuseConv(const GraphViewer& graph, const Node& node) {
  const auto& x = graph.value(node.inputs[0]).type.shape;
  if (x->size() < 3 || x->size() > 5) return "oneDNN convolves one to three spatial dimensions";
  const auto& w = graph.value(node.inputs[1]).type.shape;
  if (w->size() != x->size()) return "weights and input have different ranks";
  return {};
}

void LowerConv(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0), w = builder.input(node, 1);
  const auto group = AttributeOr<int64_t>(node, "group", 1);
  Require(group > 0 && x.dims[1] == w.dims[1] * group && w.dims[0] % group == 0,
          "{} channels in group {} do not fit weights of {} outputs and {} inputs", x.dims[1], group, w.dims[0], w.dims[1]);
  const std::span<const int64_t> spatial(x.dims.begin() + 2, x.dims.end()), kernel(w.dims.begin() + 2, w.dims.end());
  const WindowShape window = ResolveWindow(node, spatial, kernel);
  Dims out = {x.dims[0], w.dims[0]};
  out.insert(out.end(), window.output.begin(), window.output.end());
  Dims weights = w.dims;
  if (group > 1) {
    weights[0] /= group;
    weights.insert(weights.begin(), group);
  }
  const bool has_bias = builder.has_input(node, 2);
  const Dims bias_dims = {w.dims[0]};
  const Desc bias = Plain(bias_dims);

  const auto fusion = builder.FuseFollowers(node, out);
  // The first description finds the layout that the convolution wants; the second carries post-ops in that layout.
  dnnl::primitive_attr probe;
  probe.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto first = ConvolutionDesc(CpuEngine(), AnyLayout(x.dims), AnyLayout(weights), has_bias ? &bias : nullptr, AnyLayout(out),
                                     window.window, probe);
  const auto pd = fusion.ops.empty() ? first
                                     : ConvolutionDesc(CpuEngine(), AnyLayout(x.dims), AnyLayout(weights), has_bias ? &bias : nullptr,
                                                       first.dst_desc(), window.window, fusion.Attributes(first.dst_desc()));
  const MemoryIndex dst = builder.Temporary(pd.dst_desc());
  const MemoryIndex plain_weights = builder.Alias(builder.InPlainLayout(w), Plain(weights));
  std::vector<std::pair<int, MemoryIndex>> arguments = {{DNNL_ARG_SRC, builder.InLayout(x.memory, pd.src_desc())},
                                                        {DNNL_ARG_WEIGHTS, builder.InLayout(plain_weights, pd.weights_desc())},
                                                        {DNNL_ARG_DST, dst}};
  if (has_bias) arguments.emplace_back(DNNL_ARG_BIAS, builder.InPlainLayout(builder.input(node, 2)));
  builder.AddFused(dnnl::convolution_forward(pd), std::move(arguments), pd.scratchpad_desc(), fusion, {out, dst});
}

constexpr Lowering kLowerings[] = {{"Conv", 1, kLatestVersion, false, RefuseConv, LowerConv}};

}  // namespace

std::span<const Lowering> ConvolutionLowerings() { return kLowerings; }

WindowShape ResolveWindow(const Node& node, std::span<const int64_t> spatial, std::span<const int64_t> kernel) {
  const size_t rank = spatial.size();
  const auto list = [&](const char* name, int64_t fallback, size_t size) {
    auto values = AttributeOr<std::vector<int64_t>>(node, name, std::vector<int64_t>(size, fallback));
    Require(values.size() == size, "attribute {} has {} entries, expected {}", name, values.size(), size);
    return values;
  };
  const auto strides = list("strides", 1, rank), dilations = list("dilations", 1, rank);
  auto pads = list("pads", 0, 2 * rank);
  const auto auto_pad = AttributeOr<std::string>(node, "auto_pad", "NOTSET");
  const bool ceil = AttributeOr<int64_t>(node, "ceil_mode", 0) != 0;
  WindowShape shape;
  for (size_t i = 0; i < rank; ++i) {
    Require(strides[i] > 0 && dilations[i] > 0 && kernel[i] > 0, "strides, dilations and kernel sizes must be positive");
    const int64_t extent = (kernel[i] - 1) * dilations[i] + 1;
    int64_t begin = pads[i], end = pads[rank + i];
    if (auto_pad == "VALID") begin = end = 0;
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      const int64_t wanted = (spatial[i] + strides[i] - 1) / strides[i];
      const int64_t total = std::max<int64_t>(0, (wanted - 1) * strides[i] + extent - spatial[i]);
      begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      end = total - begin;
    }
    const int64_t span = spatial[i] + begin + end - extent;
    Require(span >= 0, "a window of {} does not fit {} padded elements", extent, spatial[i] + begin + end);
    int64_t out = (ceil ? span + strides[i] - 1 : span) / strides[i] + 1;
    // A last window that would start in the padding is dropped.
    if (ceil && (out - 1) * strides[i] >= spatial[i] + begin) --out;
    shape.output.push_back(out);
    shape.window.kernel.push_back(kernel[i]);
    shape.window.strides.push_back(strides[i]);
    shape.window.dilations.push_back(dilations[i] - 1);
    shape.window.pad_begin.push_back(begin);
    // oneDNN derives the output's size from the padding: give it the padding that yields this size.
    shape.window.pad_end.push_back((out - 1) * strides[i] + extent - spatial[i] - begin);
  }
  return shape;
}

}  // namespace tessera::onednn
