// ConvTranspose (1-22, with given pads) -> deconvolution_forward, with bias and following elementwise operators inside.

#include "base/check.h"
#include "lowering.h"

namespace tessera::onednn {
namespace {

std::string RefuseConvTranspose(const GraphViewer& graph, const Node& node) {
  const auto& x = graph.value(node.inputs[0]).type.shape;
  if (x->size() < 3 || x->size() > 5) return "oneDNN convolves one to three spatial dimensions";
  if (graph.value(node.inputs[1]).type.shape->size() != x->size()) return "weights and input have different ranks";
  if (!AttributeOr<std::vector<int64_t>>(node, "output_shape", {}).empty()) return "output_shape is left to the CPU provider";
  const auto auto_pad = AttributeOr<std::string>(node, "auto_pad", "NOTSET");
  return auto_pad == "NOTSET" || auto_pad == "VALID" ? std::string() : "auto_pad is left to the CPU provider";
}

void LowerConvTranspose(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0), w = builder.input(node, 1);
  const auto group = AttributeOr<int64_t>(node, "group", 1);
  Require(group > 0 && x.dims[1] == w.dims[0] && w.dims[0] % group == 0, "{} channels do not fit weights of {} in {} groups", x.dims[1],
          w.dims[0], group);
  const size_t rank = x.dims.size() - 2;
  const auto list = [&](const char* name, int64_t fallback, size_t size) {
    auto values = AttributeOr<std::vector<int64_t>>(node, name, std::vector<int64_t>(size, fallback));
    Require(values.size() == size, "attribute {} has {} entries, expected {}", name, values.size(), size);
    return values;
  };
  Window window{.kernel = Dims(w.dims.begin() + 2, w.dims.end()), .strides = list("strides", 1, rank)};
  const auto dilations = list("dilations", 1, rank), padding = list("output_padding", 0, rank);
  const bool padded = AttributeOr<std::string>(node, "auto_pad", "NOTSET") == "NOTSET";
  const auto pads = padded ? list("pads", 0, 2 * rank) : Dims(2 * rank, 0);
  const auto stated = AttributeOr<std::vector<int64_t>>(node, "kernel_shape", window.kernel);
  Require(stated == window.kernel, "kernel_shape differs from the weights' shape");
  Dims out = {x.dims[0], w.dims[1] * group};
  for (size_t i = 0; i < rank; ++i) {
    Require(window.strides[i] > 0 && dilations[i] > 0 && window.kernel[i] > 0 && padding[i] >= 0,
            "strides, dilations, kernel sizes and output_padding must be positive");
    // oneDNN finds the input's size from the output's: more padding than that would be another input.
    Require(padding[i] < window.strides[i], "output_padding {} is not below the stride {}", padding[i], window.strides[i]);
    window.dilations.push_back(dilations[i] - 1);
    window.pad_begin.push_back(pads[i]);
    window.pad_end.push_back(pads[rank + i]);
    const int64_t extent = (window.kernel[i] - 1) * dilations[i] + 1;
    out.push_back((x.dims[i + 2] - 1) * window.strides[i] + extent + padding[i] - pads[i] - pads[rank + i]);
    Require(out.back() > 0, "the output has {} elements in dimension {}", out.back(), i + 2);
  }
  // ONNX has inputs before outputs: [groups * inputs, outputs, kernel]; oneDNN groups, outputs, inputs, kernel.
  int64_t points = 1;
  for (int64_t size : window.kernel) points *= size;
  Dims weights = {group, w.dims[1], w.dims[0] / group};
  Dims strides = {weights[2] * weights[1] * points, points, weights[1] * points};
  for (int64_t size : window.kernel) {
    weights.push_back(size);
    strides.push_back(points /= size);
  }
  if (group == 1) {
    weights.erase(weights.begin());
    strides.erase(strides.begin());
  }
  const MemoryIndex given = builder.Alias(builder.InPlainLayout(w), Desc(weights, dnnl::memory::data_type::f32, strides));
  const bool has_bias = builder.has_input(node, 2);
  const Desc bias = Plain({out[1]});
  if (has_bias) {
    const Dims dims = builder.input(node, 2).dims;
    Require(dims == Dims{out[1]}, "B needs one element for each of {} outputs", out[1]);
  }
  builder.CountOperations(2.0 * static_cast<double>(Elements(x.dims)) * static_cast<double>(w.dims[1]) * static_cast<double>(Elements(window.kernel)));
  auto fusion = builder.FuseFollowers(node.outputs[0], out);
  const auto pd = DescribeFused(builder, fusion, x.memory, [&](const Desc* dst, const dnnl::primitive_attr& attr) {
    return DeconvolutionDesc(CpuEngine(), AnyLayout(x.dims), AnyLayout(weights), has_bias ? &bias : nullptr, dst ? *dst : AnyLayout(out),
                             window, attr);
  });
  const auto sum = fusion.destination();
  const MemoryIndex dst = sum ? *sum : builder.Temporary(pd.dst_desc());
  std::vector<std::pair<int, MemoryIndex>> arguments = {{DNNL_ARG_SRC, builder.InLayout(x.memory, pd.src_desc())},
                                                        {DNNL_ARG_WEIGHTS, builder.InLayout(given, pd.weights_desc())},
                                                        {DNNL_ARG_DST, dst}};
  if (has_bias) arguments.emplace_back(DNNL_ARG_BIAS, builder.InPlainLayout(builder.input(node, 2)));
  builder.AddFused(dnnl::deconvolution_forward(pd), std::move(arguments), pd.scratchpad_desc(), fusion, {out, dst});
}

constexpr Lowering kDeconvolutionLowerings[] = {{"ConvTranspose", 1, kLatestVersion, false, RefuseConvTranspose, LowerConvTranspose}};

}  // namespace

std::span<const Lowering> DeconvolutionLowerings() { return kDeconvolutionLowerings; }

}  // namespace tessera::onednn
