// LRN -> lrn_forward.

#include "ops/normalization/lrn.h"
#include "onednn/lowering/lowering.h"

namespace tessera::onednn {
namespace {

std::string RefuseLrn(const GraphViewer& graph, const Node& node) {
  const size_t rank = graph.value(node.inputs[0]).type.shape->size();
  if (rank < 3 || rank > 5) return "oneDNN normalizes over channels with one to three spatial dimensions";
  return LrnAttributes(node).size % 2 == 0 ? "a window of an even number of channels stands elsewhere in oneDNN"
                                           : std::string();
}

void LowerLrn(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const LrnAttributes attributes(node);
  // The fast implementation reads channels by the block.
  const MemoryIndex src =
      x.dims.size() == 4 && x.dims[1] % ChannelBlock() == 0 ? builder.InLayout(x.memory, ChannelNchw8c(x.dims)) : x.memory;
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto describe = [&](const Desc& layout) {
    return LrnDesc(CpuEngine(), layout, attributes.size, attributes.alpha, attributes.beta, attributes.bias, attr);
  };
  const MemoryIndex dst = builder.Temporary(describe(builder.desc(src)).dst_desc());
  builder.AddInBoxes(
      dst, {src}, 4,
      [&](std::span<const MemoryIndex> part) {
        const auto pd = describe(builder.desc(part[1]));
        const Desc scratchpad = pd.scratchpad_desc();
        builder.Add(dnnl::lrn_forward(pd), {{DNNL_ARG_SRC, part[1]}, {DNNL_ARG_DST, part[0]}}, &scratchpad);
      },
      1);
  builder.SetOutput(node, {x.dims, dst});
}

constexpr Lowering kLrnLowerings[] = {{"LRN", 1, kLatestVersion, false, RefuseLrn, LowerLrn}};

}  // namespace

std::span<const Lowering> LrnLowerings() { return kLrnLowerings; }

}  // namespace tessera::onednn
