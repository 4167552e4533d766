// BatchNormalization (inference, 7-15) -> batch_normalization_forward; Softmax (13, and earlier on the last axis) -> softmax.

#include "base/check.h"
#include "lowering.h"

namespace tessera::onednn {
namespace {

std::string RefuseBatchNorm(const GraphViewer& graph, const Node& node) {
  if (AttributeOr<int64_t>(node, "training_mode", 0) != 0) return "training mode is left to the CPU provider";
  if (node.since_version < 9 && AttributeOr<int64_t>(node, "spatial", 1) == 0) return "statistics for each element are left to the CPU provider";
  const size_t rank = graph.value(node.inputs[0]).type.shape->size();
  return rank < 2 || rank > 5 ? "oneDNN normalizes two to five dimensions" : std::string();
}

void LowerBatchNorm(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const float epsilon = AttributeOr<float>(node, "epsilon", 1e-5f);
  for (size_t i = 1; i < 5; ++i) {
    const RegionValue parameter = builder.input(node, i);
    Require(parameter.dims == Dims{x.dims[1]}, "input {} needs one element a channel, {} in all", i, x.dims[1]);
  }
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto pd = BatchNormDesc(CpuEngine(), builder.desc(x.memory), epsilon, attr);
  const MemoryIndex dst = builder.Temporary(builder.desc(x.memory));
  const auto parameter = [&](size_t i) { return builder.InPlainLayout(builder.input(node, i)); };
  const Desc scratchpad = pd.scratchpad_desc();
  builder.Add(dnnl::batch_normalization_forward(pd),
              {{DNNL_ARG_SRC, x.memory}, {DNNL_ARG_SCALE, parameter(1)}, {DNNL_ARG_SHIFT, parameter(2)},
               {DNNL_ARG_MEAN, parameter(3)}, {DNNL_ARG_VARIANCE, parameter(4)}, {DNNL_ARG_DST, dst}},
              &scratchpad);
  builder.SetOutput(node, {x.dims, dst});
}

std::string RefuseSoftmax(const GraphViewer& graph, const Node& node) {
  const auto rank = static_cast<int64_t>(graph.value(node.inputs[0]).type.shape->size());
  const auto axis = AttributeOr<int64_t>(node, "axis", node.since_version < 13 ? 1 : -1);
  const auto last = axis < 0 ? axis + rank : axis;
  if (rank == 0 || last < 0 || last >= rank) return "its axis is outside the input";
  if (node.since_version < 13 && last != rank - 1) return "before version 13 an inner axis flattens the input";
  return {};
}

void LowerSoftmax(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const auto axis = AttributeOr<int64_t>(node, "axis", node.since_version < 13 ? 1 : -1);
  const MemoryIndex src = builder.InPlainLayout(x);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto pd = SoftmaxDesc(CpuEngine(), builder.desc(src), static_cast<int>(axis < 0 ? axis + static_cast<int64_t>(x.dims.size()) : axis), attr);
  const MemoryIndex dst = builder.Temporary(builder.desc(src));
  const Desc scratchpad = pd.scratchpad_desc();
  builder.Add(Softmax(pd), {{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, dst}}, &scratchpad);
  builder.SetOutput(node, {x.dims, dst});
}

constexpr Lowering kLowerings[] = {{"BatchNormalization", 7, kLatestVersion, false, RefuseBatchNorm, LowerBatchNorm},
                                   {"Softmax", 1, kLatestVersion, false, RefuseSoftmax, LowerSoftmax}};

}  // namespace

std::span<const Lowering> NormalizationLowerings() { return kLowerings; }

}  // namespace tessera::onednn
