// BatchNormalization (inference, 7-15) -> batch_normalization_forward.

#include <algorithm>
#include <array>

#include "base/check.h"
#include "onednn/lowering/lowering.h"
#include "onednn/program/shared_weights.h"
#include "ops/normalization/batch_normalization.h"

namespace tessera::onednn {
namespace {

std::string RefuseBatchNorm(const GraphViewer& graph, const Node& node) {
  const BatchNormalizationAttributes attributes(node);
  if (attributes.training) return "training mode is left to the CPU provider";
  if (!attributes.spatial) return "statistics for each element are left to the CPU provider";
  const size_t rank = graph.value(node.inputs[0]).type.shape->size();
  return rank < 2 || rank > 5 ? "oneDNN normalizes two to five dimensions" : std::string();
}

/// y = scale * (x - mean) / sqrt(variance + epsilon) + shift, then Relu where that is all that follows.
void AddBatchNorm(ProgramBuilder& builder, const RegionValue& x, float epsilon,
                  const std::array<MemoryIndex, 4>& parameters, ValueIndex result) {
  auto fusion = builder.FuseFollowers(result, x.dims);
  const bool relu =
      !fusion.ops.empty() && fusion.ops[0].eltwise == dnnl::algorithm::eltwise_relu && fusion.ops[0].alpha == 0;
  builder.Unfuse(fusion, relu ? 1 : 0);
  // In the padding of a blocked layout oneDNN 2.6 leaves what scale and shift make of it, and 0 * NaN spoils the next
  // matmul.
  const bool pads = x.dims[1] % ChannelBlock() != 0;
  const MemoryIndex src = pads ? builder.InPlainLayout(x) : x.memory;
  const Desc layout = builder.desc(src);
  const MemoryIndex dst = builder.Temporary(layout);
  builder.AddInBoxes(
      dst, {src}, 1,
      [&](std::span<const MemoryIndex> part) {
        const Desc of_part = builder.desc(part[0]);
        const auto pd = BatchNormDesc(CpuEngine(), of_part, epsilon, fusion.Attributes(of_part));
        const Desc scratchpad = pd.scratchpad_desc();
        builder.Add(dnnl::batch_normalization_forward(pd),
                    {{DNNL_ARG_SRC, part[1]},
                     {DNNL_ARG_SCALE, parameters[0]},
                     {DNNL_ARG_SHIFT, parameters[1]},
                     {DNNL_ARG_MEAN, parameters[2]},
                     {DNNL_ARG_VARIANCE, parameters[3]},
                     {DNNL_ARG_DST, part[0]}},
                    &scratchpad);
      },
      1);
  builder.SetFused(fusion, {x.dims, dst});
}

void LowerBatchNorm(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  if (LowerChannelAffine(builder, node)) return;
  std::array<MemoryIndex, 4> parameters;
  for (size_t i = 1; i < 5; ++i) {
    const RegionValue parameter = builder.input(node, i);
    Require(parameter.dims == Dims{x.dims[1]}, "input {} needs one element a channel, {} in all", i, x.dims[1]);
    parameters[i - 1] = builder.InPlainLayout(parameter);
  }
  AddBatchNorm(builder, x, BatchNormalizationAttributes(node).epsilon, parameters, node.outputs[0]);
}

constexpr Lowering kBatchNormalizationLowerings[] = {
    {"BatchNormalization", 7, kLatestVersion, false, RefuseBatchNorm, LowerBatchNorm}};

}  // namespace

std::span<const Lowering> BatchNormalizationLowerings() { return kBatchNormalizationLowerings; }

bool LowerChannelAffine(ProgramBuilder& builder, const Node& node) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!builder.has_input(node, i) || builder.constant(node, i) != nullptr) continue;
    const RegionValue x = builder.input(node, i);
    ChannelAffine affine;
    if (!affine.Append(builder.region(), node, node.inputs[i], x.dims)) return false;
    ValueIndex value = node.outputs[0];
    builder.FollowAffine(affine, value, x.dims);
    const Desc vector = Plain({x.dims[1]});
    const std::string key = affine.Key() + LayoutKey(vector);
    const auto constant = [&](const char* name, const std::function<void(std::span<float>)>& make) {
      return builder.Constant(vector, builder.weights().Derived(name + key, affine.sources(), vector, make));
    };
    const auto numbers = affine.Compute(x.dims[1]);
    const MemoryIndex scale =
        constant("s", [&](std::span<float> out) { std::copy(numbers.scale.begin(), numbers.scale.end(), out.begin()); });
    const MemoryIndex shift =
        constant("t", [&](std::span<float> out) { std::copy(numbers.shift.begin(), numbers.shift.end(), out.begin()); });
    const MemoryIndex mean = constant("m", [&](std::span<float> out) { std::fill(out.begin(), out.end(), 0.0f); });
    const MemoryIndex variance = constant("v", [&](std::span<float> out) { std::fill(out.begin(), out.end(), 1.0f); });
    AddBatchNorm(builder, x, 0, {scale, shift, mean, variance}, value);
    return true;
  }
  return false;
}

}  // namespace tessera::onednn
