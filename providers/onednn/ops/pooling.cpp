// MaxPool (1-22, values only), AveragePool (1-22), GlobalAveragePool, GlobalMaxPool -> pooling_forward.

#include "base/cancellation.h"
#include "base/check.h"
#include "lowering.h"

namespace tessera::onednn {
namespace {

std::string RefusePool(const GraphViewer& graph, const Node& node) {
  const auto& x = graph.value(node.inputs[0]).type.shape;
  if (x->size() < 3 || x->size() > 5) return "oneDNN pools one to three spatial dimensions";
  if (node.op_type == "AveragePool" && AttributeOr<int64_t>(node, "ceil_mode", 0) != 0) {
    return "ceil_mode of an average counts other elements in oneDNN";
  }
  const auto kernel = AttributeOr<std::vector<int64_t>>(node, "kernel_shape", {}), pads = AttributeOr<std::vector<int64_t>>(node, "pads", {});
  for (size_t i = 0; i < pads.size() && !kernel.empty(); ++i) {
    if (pads[i] >= kernel[i % kernel.size()]) return "oneDNN has other results for windows of nothing but padding";
  }
  return {};
}

/// One primitive for each box of the result; false, and nothing done, where it stays whole.
bool AddInParts(ProgramBuilder& builder, const std::vector<Box>& boxes, dnnl::algorithm algorithm, const Window& window, MemoryIndex src,
                MemoryIndex dst) {
  if (boxes.size() == 1) return false;
  struct PartOfPool {
    Window window;
    MemoryIndex src, dst;
  };
  std::vector<PartOfPool> parts;
  for (const Box& box : boxes) {
    const auto seen = PartOf(window, builder.dims(src), box);
    const auto from = seen ? builder.Part(src, seen->input) : std::nullopt, to = builder.Part(dst, box);
    if (!from || !to) return false;
    parts.push_back({seen->window, *from, *to});
  }
  for (const PartOfPool& part : parts) {
    CancellationPoint();
    const auto pd = PoolingDesc(CpuEngine(), algorithm, builder.desc(part.src), builder.desc(part.dst), part.window, OwnScratchpad());
    const Desc scratchpad = pd.scratchpad_desc();
    builder.Add(Pooling(pd), {{DNNL_ARG_SRC, part.src}, {DNNL_ARG_DST, part.dst}}, &scratchpad);
  }
  return true;
}

void Lower(ProgramBuilder& builder, const Node& node, dnnl::algorithm algorithm, const RegionValue& x, const WindowShape& window) {
  Dims out = {x.dims[0], x.dims[1]};
  out.insert(out.end(), window.output.begin(), window.output.end());
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  // A blocked input's layout is kept. Row-major ones are reordered where that does not pad: their implementation is scalar. Codes
  // are pooled pixel after pixel.
  const DataType type = TypeOf(builder.desc(x.memory));
  if (IsEmpty(Plain(out, type))) {  // oneDNN makes no descriptor where a dilated window is larger than its input
    builder.SetOutput(node, {out, builder.Temporary(Plain(out, type))});
    return;
  }
  const bool reorder = builder.desc(x.memory) == Plain(x.dims, type) && x.dims[1] % ChannelBlock() == 0, of_codes = Unrounded(type) != DataType::f32;
  const MemoryIndex src = of_codes ? builder.InLayout(x.memory, ChannelsLast(x.dims, type)) : reorder ? builder.InLayout(x.memory, ChannelBlocked(x.dims, type)) : x.memory;
  const auto pd = PoolingDesc(CpuEngine(), algorithm, builder.desc(src), AnyLayout(out, type), window.window, attr);
  const MemoryIndex dst = builder.Temporary(pd.dst_desc());
  const double ns = 8 * ProductNs(static_cast<double>(Elements(out)) * static_cast<double>(Elements(window.window.kernel)), pd.impl_info_str());
  builder.SetOutput(node, {out, dst});
  if (AddInParts(builder, BoxesOf(out, SpatialAxes(out), ns), algorithm, window.window, src, dst)) return;
  const Desc scratchpad = pd.scratchpad_desc();
  builder.Add(Pooling(pd), {{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, dst}}, &scratchpad);
}

void LowerWindowPool(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const auto kernel = AttributeOr<std::vector<int64_t>>(node, "kernel_shape", {});
  Require(kernel.size() + 2 == x.dims.size(), "kernel_shape has {} entries for an input of {} dimensions", kernel.size(), x.dims.size());
  const bool with_padding = AttributeOr<int64_t>(node, "count_include_pad", 0) != 0;
  const dnnl::algorithm algorithm = node.op_type == "MaxPool" ? dnnl::algorithm::pooling_max
                                    : with_padding            ? dnnl::algorithm::pooling_avg_include_padding
                                                              : dnnl::algorithm::pooling_avg_exclude_padding;
  Lower(builder, node, algorithm, x, ResolveWindow(node, std::span<const int64_t>(x.dims).subspan(2), kernel));
}

void LowerGlobalPool(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  WindowShape window;
  for (int64_t size : std::span<const int64_t>(x.dims).subspan(2)) {
    window.output.push_back(1);
    window.window.kernel.push_back(size);
    window.window.strides.push_back(1);
    window.window.dilations.push_back(0);
    window.window.pad_begin.push_back(0);
    window.window.pad_end.push_back(0);
  }
  Lower(builder, node,
        node.op_type == "GlobalMaxPool" ? dnnl::algorithm::pooling_max : dnnl::algorithm::pooling_avg_exclude_padding, x, window);
}

constexpr Lowering kPoolingLowerings[] = {{"MaxPool", 1, kLatestVersion, false, RefusePool, LowerWindowPool, "", kFloatsOrCodes, kFloatsOrCodes[0]},
                                   {"AveragePool", 1, kLatestVersion, false, RefusePool, LowerWindowPool},
                                   {"GlobalAveragePool", 1, kLatestVersion, false, RefusePool, LowerGlobalPool},
                                   {"GlobalMaxPool", 1, kLatestVersion, false, RefusePool, LowerGlobalPool}};

}  // namespace

std::span<const Lowering> PoolingLowerings() { return kPoolingLowerings; }

}  // namespace tessera::onednn
