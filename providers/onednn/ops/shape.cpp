// Concat -> concat; Flatten and Reshape by a constant -> another description of row-major bytes.

#include "base/check.h"
#include "lowering.h"

namespace tessera::onednn {
namespace {

std::string RefuseConcat(const GraphViewer& graph, const Node& node) {
  const auto rank = static_cast<int64_t>(graph.value(node.inputs[0]).type.shape->size());
  const auto axis = AttributeOr<int64_t>(node, "axis", 1);
  return rank == 0 || axis < -rank || axis >= rank ? "its axis is outside the input" : std::string();
}

void LowerConcat(ProgramBuilder& builder, const Node& node) {
  std::vector<RegionValue> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(builder.input(node, i));
  const auto rank = static_cast<int64_t>(inputs[0].dims.size());
  const auto given = AttributeOr<int64_t>(node, "axis", 1);
  const auto axis = static_cast<size_t>(given < 0 ? given + rank : given);
  Dims out = inputs[0].dims;
  out[axis] = 0;
  std::vector<Desc> descs;
  for (const RegionValue& input : inputs) {
    Require(input.dims.size() == out.size(), "inputs of {} and {} dimensions cannot be joined", input.dims.size(), out.size());
    for (size_t i = 0; i < out.size(); ++i) {
      Require(i == axis || input.dims[i] == out[i], "dimension {} is {} in one input and {} in another", i, input.dims[i], out[i]);
    }
    out[axis] += input.dims[axis];
    descs.push_back(builder.desc(input.memory));
  }
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto pd = ConcatDesc(CpuEngine(), AnyLayout(out), static_cast<int>(axis), descs, attr);
  const MemoryIndex dst = builder.Temporary(pd.dst_desc());
  std::vector<std::pair<int, MemoryIndex>> arguments = {{DNNL_ARG_DST, dst}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    arguments.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), inputs[i].memory);
  }
  const Desc scratchpad = pd.scratchpad_desc();
  builder.Add(dnnl::concat(pd), std::move(arguments), &scratchpad);
  builder.SetOutput(node, {out, dst});
}

std::string RefuseFlatten(const GraphViewer&, const Node&) { return {}; }

void LowerFlatten(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const auto rank = static_cast<int64_t>(x.dims.size());
  auto axis = AttributeOr<int64_t>(node, "axis", 1);
  Require(axis >= -rank && axis <= rank, "axis {} is outside [-{}, {}]", axis, rank, rank);
  if (axis < 0) axis += rank;
  Dims out = {1, 1};
  for (int64_t i = 0; i < rank; ++i) out[i < axis ? 0 : 1] *= x.dims[static_cast<size_t>(i)];
  builder.SetOutput(node, {out, builder.Alias(builder.InPlainLayout(x), Plain(out))});
}

constexpr Lowering kLowerings[] = {{"Concat", 4, kLatestVersion, false, RefuseConcat, LowerConcat},
                                   {"Flatten", 1, kLatestVersion, false, RefuseFlatten, LowerFlatten}};

}  // namespace

std::span<const Lowering> ShapeLowerings() { return kLowerings; }

}  // namespace tessera::onednn
