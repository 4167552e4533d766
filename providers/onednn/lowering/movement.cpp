// Concat -> nothing where the inputs can be made in their place, else concat; Flatten, Reshape, Squeeze, Unsqueeze by
// constants -> another description of row-major bytes; Transpose -> reorder; Identity, Dropout -> nothing.

#include <algorithm>

#include "base/check.h"
#include "onednn/lowering/lowering.h"
#include "ops/movement/concat.h"
#include "ops/movement/flatten.h"
#include "ops/movement/reshape.h"
#include "ops/movement/squeeze.h"
#include "ops/movement/transpose.h"
#include "ops/random/dropout.h"

namespace tessera::onednn {
namespace {

std::string RefuseConcat(const GraphViewer& graph, const Node& node) {
  const auto axis = AxisWithin(ConcatAttributes(node).axis, graph.value(node.inputs[0]).type.shape->size());
  return axis ? "" : "its axis is outside the input";
}

/// Makes the producers of the inputs write into `dst` itself, and copies the inputs that cannot. False, and nothing is
/// done, when none can.
bool PlaceInputs(ProgramBuilder& builder, std::span<const RegionValue> inputs, size_t axis, MemoryIndex dst) {
  Dims offsets(inputs[0].dims.size(), 0);
  std::vector<std::pair<const RegionValue*, Dims>> left;
  for (const RegionValue& input : inputs) {
    if (!builder.PlaceInside(input.memory, dst, offsets)) left.emplace_back(&input, offsets);
    offsets[axis] += input.dims[axis];
  }
  if (left.size() == inputs.size()) return false;
  for (const auto& [input, at] : left) {
    builder.Reorder(input->memory, builder.Alias(dst, builder.desc(dst).submemory_desc(input->dims, at)));
  }
  return true;
}

/// Rounds inputs to the type that others of them have been rounded to; gives the type of all.
DataType AlignTypes(ProgramBuilder& builder, std::span<RegionValue> inputs) {
  const auto type_of = [&](const RegionValue& value) { return TypeOf(builder.desc(value.memory)); };
  const auto rounded =
      std::find_if(inputs.begin(), inputs.end(), [&](const RegionValue& input) { return type_of(input) != DataType::f32; });
  if (rounded == inputs.end()) return DataType::f32;
  const DataType type = type_of(*rounded);
  for (RegionValue& input : inputs) {
    if (type_of(input) == type) continue;
    const bool blocked =
        input.dims.size() >= 3 && input.dims.size() <= 5 && builder.desc(input.memory) == ChannelNchw8c(input.dims);
    input.memory = builder.InLayout(input.memory, blocked ? ChannelNchw8c(input.dims, type) : Plain(input.dims, type));
  }
  return type;
}

void LowerConcat(ProgramBuilder& builder, const Node& node) {
  std::vector<RegionValue> inputs;
  inputs.reserve(node.inputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(builder.input(node, i));
  const DataType type = AlignTypes(builder, inputs);
  Shape joined(inputs[0].dims);
  const size_t axis = NormalizeAxis(ConcatAttributes(node).axis, joined.rank());
  std::vector<Desc> descs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i > 0) ConcatAttributes::Join(joined, Shape(inputs[i].dims), axis);
    descs.push_back(builder.desc(inputs[i].memory));
  }
  Dims out = ToDims(joined);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto pd = ConcatDesc(CpuEngine(), AnyLayout(out, type), static_cast<int>(axis), descs, attr);
  const MemoryIndex dst = builder.Temporary(pd.dst_desc());
  if (!PlaceInputs(builder, inputs, axis, dst)) {
    std::vector<std::pair<int, MemoryIndex>> arguments = {{DNNL_ARG_DST, dst}};
    for (size_t i = 0; i < inputs.size(); ++i) {
      arguments.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), inputs[i].memory);
    }
    const Desc scratchpad = pd.scratchpad_desc();
    builder.Add(dnnl::concat(pd), std::move(arguments), &scratchpad);
  }
  builder.SetOutput(node, {out, dst});
}

/// The same elements, row-major, under other dimensions.
void SetReshaped(ProgramBuilder& builder, const Node& node, const RegionValue& x, Dims out) {
  const MemoryIndex plain = builder.InRows(x);
  const MemoryIndex memory = builder.Alias(plain, Plain(AtLeastOne(out), TypeOf(builder.desc(plain))));
  builder.SetOutput(node, {std::move(out), memory});
}

void LowerFlatten(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  SetReshaped(builder, node, x, ToDims(FlattenAttributes(node).ResultShape(Shape(x.dims))));
}

std::optional<std::vector<int64_t>> TargetOf(const GraphViewer& graph, const Node& node) {
  const ReshapeAttributes attributes(node);
  return attributes.from_attribute ? attributes.shape : ConstantIntegers(graph, node, 1);
}

std::string RefuseReshape(const GraphViewer& graph, const Node& node) {
  const auto shape = TargetOf(graph, node);
  if (!shape) return "its shape is not a constant";
  return shape->size() > 6 ? "its result has more than 6 dimensions" : std::string();
}

void LowerReshape(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const Shape from(x.dims);
  const Shape out = ReshapeAttributes(node).Resolve(from, *TargetOf(builder.region(), node));
  Require(out.num_elements() == from.num_elements(), "{} elements do not fit the new shape {}", from.num_elements(), out);
  SetReshaped(builder, node, x, ToDims(out));
}

std::string RefuseAxes(const GraphViewer& graph, const Node& node) {
  const bool in_input = node.inputs.size() > 1 && node.inputs[1] != kNone;
  return !in_input || ConstantInput(graph, node, 1) != nullptr ? "" : "its axes are not constants";
}

/// Of a node that RefuseAxes lets through.
std::optional<IntegerList> AxesOf(const ProgramBuilder& builder, const SqueezeAttributes& attributes, const Node& node) {
  return attributes.Axes(ConstantInput(builder.region(), node, 1));
}

void LowerSqueeze(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const SqueezeAttributes attributes(node);
  SetReshaped(builder, node, x, ToDims(SqueezedShape(Shape(x.dims), AxesOf(builder, attributes, node))));
}

void LowerUnsqueeze(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const SqueezeAttributes attributes(node);
  const Shape out = UnsqueezedShape(Shape(x.dims), AxesOf(builder, attributes, node));
  Require(out.rank() <= 6, "the result has {} dimensions, at most 6 are lowered", out.rank());
  SetReshaped(builder, node, x, ToDims(out));
}

void LowerTranspose(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const size_t rank = x.dims.size();
  const TransposeAttributes attributes(node);
  attributes.Check(rank);
  Dims strides(rank, 1), out(rank), out_strides(rank);
  for (size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(x.dims[i], 1);
  for (size_t i = 0; i < rank; ++i) {
    const size_t from = attributes.From(i, rank);
    out[i] = x.dims[from];
    out_strides[i] = strides[from];
  }
  if (rank == 0) return builder.SetOutput(node, x);
  const MemoryIndex plain = builder.InRows(x);
  const DataType type = TypeOf(builder.desc(plain));
  const Desc permuted(out, type, out_strides), wanted = Plain(out, type);
  // Where only axes of one element move, oneDNN says that the two are equal, but binary chooses its kernel by their
  // strides.
  const bool moves = permuted != wanted;
  builder.SetOutput(node,
                    {out, moves ? builder.InLayout(builder.Alias(plain, permuted), wanted) : builder.Alias(plain, wanted)});
}

std::string RefuseDropout(const GraphViewer& graph, const Node& node) {
  return DropoutMayTrain(node, ConstantInput(graph, node, 2)) ? "it may train" : "";
}

void LowerIdentity(ProgramBuilder& builder, const Node& node) { builder.SetOutput(node, builder.input(node, 0)); }

constexpr Lowering kMovementLowerings[] = {
    {"Concat", 4, kLatestVersion, false, RefuseConcat, LowerConcat, "", kFloatsOrQuantized, kFloatsOrQuantized[0]},
    {"Flatten", 1, kLatestVersion, false, RefuseNothing, LowerFlatten, "", kFloatsOrQuantized, kFloatsOrQuantized[0]},
    {"Reshape", 1, kLatestVersion, true, RefuseReshape, LowerReshape, "", kFloatsOrQuantized, kFloatsOrQuantized[0]},
    {"Squeeze", 1, kLatestVersion, true, RefuseAxes, LowerSqueeze, "", kFloatsOrQuantized, kFloatsOrQuantized[0]},
    {"Unsqueeze", 1, kLatestVersion, true, RefuseAxes, LowerUnsqueeze, "", kFloatsOrQuantized, kFloatsOrQuantized[0]},
    {"Transpose", 1, kLatestVersion, false, RefuseNothing, LowerTranspose, "", kFloatsOrQuantized, kFloatsOrQuantized[0]},
    {"Dropout", 1, kLatestVersion, true, RefuseDropout, LowerIdentity, "", kFloatsOrQuantized, kFloatsOrQuantized[0]},
    {"Identity", 1, kLatestVersion, false, RefuseNothing, LowerIdentity, "", kFloatsOrQuantized, kFloatsOrQuantized[0]}};

}  // namespace

std::span<const Lowering> MovementLowerings() { return kMovementLowerings; }

const Tensor* ConstantInput(const GraphViewer& graph, const Node& node, size_t i) {
  return i < node.inputs.size() && node.inputs[i] != kNone ? graph.constant(node.inputs[i]) : nullptr;
}

std::optional<std::vector<int64_t>> ConstantIntegers(const GraphViewer& graph, const Node& node, size_t i) {
  const Tensor* tensor = ConstantInput(graph, node, i);
  if (tensor == nullptr || !tensor->is(ElementType::kInt64)) return std::nullopt;
  const auto values = tensor->values<int64_t>();
  return std::vector<int64_t>(values.begin(), values.end());
}

}  // namespace tessera::onednn
