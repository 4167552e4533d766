// LayerNormalization (17) -> layer_normalization_forward; InstanceNormalization (6) and GroupNormalization (21) -> the same
// of each channel's or group's pixels, then batch_normalization.

#include "ops/normalization/layer_normalization.h"
#include "base/check.h"
#include "onednn/lowering/lowering.h"
#include "ops/axis.h"
#include "ops/normalization/group_normalization.h"
#include "ops/normalization/row_parameter.h"

namespace tessera::onednn {
namespace {

using dnnl::normalization_flags;

std::string RefuseLayerNorm(const GraphViewer& graph, const Node& node) {
  const SymbolicShape& shape = *graph.value(node.inputs[0]).type.shape;
  const auto axis = AxisWithin(LayerNormalizationAttributes(node).axis, shape.size());
  if (!axis) return "its axis is outside the input";
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNone) continue;
    const SymbolicShape& parameter = *graph.value(node.inputs[i]).type.shape;
    if (!IsOfRow(shape, *axis, parameter)) return "scale or shift broadcast";
  }
  return {};
}

/// Of `rows` rows of `columns` numbers; `parameters` are scale and shift, -1 where missing.
MemoryIndex AddRows(ProgramBuilder& builder, MemoryIndex src, int64_t rows, int64_t columns, float epsilon,
                    MemoryIndex scale, MemoryIndex shift) {
  const Desc layout = Plain({rows, columns});
  auto flags = normalization_flags::none;
  if (scale >= 0) flags |= normalization_flags::use_scale;
  if (shift >= 0) flags |= normalization_flags::use_shift;
  const MemoryIndex dst = builder.Temporary(layout);
  builder.AddInBoxes(
      dst, {builder.Alias(src, layout)}, 1,
      [&](std::span<const MemoryIndex> part) {
        const auto pd = LayerNormDesc(CpuEngine(), builder.desc(part[0]), epsilon, flags, OwnScratchpad());
        std::vector<std::pair<int, MemoryIndex>> arguments = {{DNNL_ARG_SRC, part[1]}, {DNNL_ARG_DST, part[0]}};
        if (scale >= 0) arguments.emplace_back(DNNL_ARG_SCALE, scale);
        if (shift >= 0) arguments.emplace_back(DNNL_ARG_SHIFT, shift);
        const Desc scratchpad = pd.scratchpad_desc();
        builder.Add(dnnl::layer_normalization_forward(pd), std::move(arguments), &scratchpad);
      },
      builder.dims(dst).size() - 1);
  return dst;
}

void LowerLayerNorm(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const LayerNormalizationAttributes attributes(node);
  const auto first = x.dims.begin() + static_cast<ptrdiff_t>(NormalizeAxis(attributes.axis, x.dims.size()));
  const Dims outer(x.dims.begin(), first), inner(first, x.dims.end());
  const auto parameter = [&](size_t i) -> MemoryIndex {
    if (!builder.has_input(node, i)) return -1;
    const RegionValue value = builder.input(node, i);
    Require(Elements(value.dims) == Elements(inner), "input {} is not of the shape that is normalized", i);
    return builder.Alias(builder.InPlainLayout(value), Plain({Elements(inner)}));
  };
  const MemoryIndex dst = AddRows(builder, builder.InPlainLayout(x), Elements(outer), Elements(inner), attributes.epsilon,
                                  parameter(1), parameter(2));
  builder.SetOutput(node, {x.dims, builder.Alias(dst, Plain(x.dims))});
}

std::string RefuseInstanceNorm(const GraphViewer& graph, const Node& node) {
  const size_t rank = graph.value(node.inputs[0]).type.shape->size();
  return rank < 3 || rank > 5 ? "oneDNN normalizes one to three spatial dimensions" : std::string();
}

/// Channels in groups, then a scale and a shift for each channel.
void LowerGroups(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const GroupNormalizationAttributes attributes(node);
  const int64_t groups = attributes.Groups(Shape(x.dims)), channels = x.dims[1],
                pixels = Elements(Dims(x.dims.begin() + 2, x.dims.end()));
  const auto parameter = [&](size_t i) {
    const RegionValue value = builder.input(node, i);
    Require(value.dims == Dims{channels}, "input {} needs one element a channel, {} in all", i, channels);
    return builder.InPlainLayout(value);
  };
  const MemoryIndex scale = parameter(1), shift = parameter(2);
  const MemoryIndex even = AddRows(builder, builder.InPlainLayout(x), Elements({x.dims[0], groups}),
                                   groups == 0 ? 0 : channels / groups * pixels, attributes.epsilon, -1, -1);
  const std::vector<float> zeros(static_cast<size_t>(channels), 0.0f), ones(static_cast<size_t>(channels), 1.0f);
  const Desc layout = Plain({x.dims[0], channels, pixels});
  const MemoryIndex dst = builder.Temporary(layout), mean = builder.Constant(Dims{channels}, zeros),
                    variance = builder.Constant(Dims{channels}, ones);
  builder.AddInBoxes(
      dst, {builder.Alias(even, layout)}, 1,
      [&](std::span<const MemoryIndex> part) {
        const auto pd = BatchNormDesc(CpuEngine(), builder.desc(part[0]), 0, OwnScratchpad());
        const Desc scratchpad = pd.scratchpad_desc();
        builder.Add(dnnl::batch_normalization_forward(pd),
                    {{DNNL_ARG_SRC, part[1]},
                     {DNNL_ARG_SCALE, scale},
                     {DNNL_ARG_SHIFT, shift},
                     {DNNL_ARG_MEAN, mean},
                     {DNNL_ARG_VARIANCE, variance},
                     {DNNL_ARG_DST, part[0]}},
                    &scratchpad);
      },
      1);
  builder.SetOutput(node, {x.dims, builder.Alias(dst, Plain(x.dims))});
}

std::string RefuseGroupNorm(const GraphViewer& graph, const Node& node) {
  return graph.value(node.inputs[0]).type.shape->size() < 2 ? "its input has no channels" : std::string();
}

constexpr Lowering kRowNormalizationLowerings[] = {
    {"LayerNormalization", 17, kLatestVersion, false, RefuseLayerNorm, LowerLayerNorm, "", kOnlyFloats, kFloats, true},
    {"InstanceNormalization", 6, kLatestVersion, false, RefuseInstanceNorm, LowerGroups, "", kOnlyFloats, kFloats, true},
    {"GroupNormalization", 21, kLatestVersion, false, RefuseGroupNorm, LowerGroups, "", kOnlyFloats, kFloats, true}};

}  // namespace

std::span<const Lowering> RowNormalizationLowerings() { return kRowNormalizationLowerings; }

}  // namespace tessera::onednn
