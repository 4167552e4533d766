// ReduceSum, -Mean, -Prod, -L1, -L2 and -SumSquare of constant axes -> reduction. Not the largest and smallest: oneDNN's
// start from the extreme finite numbers, which is no answer where all is infinite.

#include <limits>

#include "base/check.h"
#include "onednn/lowering/lowering.h"
#include "ops/axis.h"
#include "ops/reduction/reduce.h"

namespace tessera::onednn {
namespace {

struct Reduction {
  std::string_view op_type;
  dnnl::algorithm algorithm;
  float power = 0;
  /// Of a single element.
  std::optional<dnnl::algorithm> alone = std::nullopt;
  float of_nothing = 0;
};

constexpr Reduction kReductions[] = {
    {"ReduceSum", dnnl::algorithm::reduction_sum},
    {"ReduceMean", dnnl::algorithm::reduction_mean, 0, std::nullopt, std::numeric_limits<float>::quiet_NaN()},
    {"ReduceProd", dnnl::algorithm::reduction_mul, 0, std::nullopt, 1},
    {"ReduceL1", dnnl::algorithm::reduction_norm_lp_power_p_sum, 1, dnnl::algorithm::eltwise_abs},
    {"ReduceL2", dnnl::algorithm::reduction_norm_lp_sum, 2, dnnl::algorithm::eltwise_abs},
    {"ReduceSumSquare", dnnl::algorithm::reduction_norm_lp_power_p_sum, 2, dnnl::algorithm::eltwise_square}};

const Reduction& ReductionOf(const Node& node) {
  return *std::find_if(std::begin(kReductions), std::end(kReductions),
                       [&](const Reduction& one) { return one.op_type == node.op_type; });
}

/// The axes as they are given, none for all.
std::optional<std::vector<int64_t>> ReducedAxes(const GraphViewer& graph, const Node& node) {
  const bool in_input = node.inputs.size() > 1 && node.inputs[1] != kNone;
  return in_input ? ConstantIntegers(graph, node, 1) : ReduceAttributes(node).axes;
}

std::string RefuseReduction(const GraphViewer& graph, const Node& node) {
  const auto axes = ReducedAxes(graph, node);
  if (!axes) return "its axes are not constants";
  if (axes->empty() && ReduceAttributes(node).noop_with_empty_axes) return "it reduces nothing";
  const size_t rank = graph.value(node.inputs[0]).type.shape->size();
  const bool inside =
      std::all_of(axes->begin(), axes->end(), [&](int64_t axis) { return AxisWithin(axis, rank).has_value(); });
  return inside ? std::string() : "an axis is outside the input";
}

void LowerReduction(ProgramBuilder& builder, const Node& node) {
  const Reduction& reduction = ReductionOf(node);
  const RegionValue x = builder.input(node, 0);
  const Shape shape(x.dims), reduced = ReducedDimensions(shape, *ReducedAxes(builder.region(), node));
  const auto dims_of = [&](bool keepdims) {
    const Shape result = ReducedShape(shape, reduced, keepdims);
    return Dims(result.begin(), result.end());
  };
  const Dims kept = dims_of(true), out = dims_of(ReduceAttributes(node).keepdims);
  const Desc result = Plain(AtLeastOne(kept));
  MemoryIndex dst = builder.InPlainLayout(x);
  if (Elements(x.dims) == 0) {
    dst = builder.Constant(AtLeastOne(kept), std::vector<float>(static_cast<size_t>(Elements(kept)), reduction.of_nothing));
  } else if (kept == x.dims) {
    if (reduction.alone) dst = AddEltwise(builder, dst, {*reduction.alone});
  } else {
    const MemoryIndex src = dst;
    dst = builder.Temporary(result);
    builder.AddInBoxes(dst, {src}, 1, [&](std::span<const MemoryIndex> part) {
      const auto pd = ReductionDesc(CpuEngine(), reduction.algorithm, builder.desc(part[1]), builder.desc(part[0]),
                                    reduction.power, OwnScratchpad());
      const Desc scratchpad = pd.scratchpad_desc();
      builder.Add(dnnl::reduction(pd), {{DNNL_ARG_SRC, part[1]}, {DNNL_ARG_DST, part[0]}}, &scratchpad);
    });
  }
  builder.SetOutput(node, {out, builder.Alias(dst, Plain(AtLeastOne(out)))});
}

constexpr Lowering Reduced(std::string_view op_type) {
  return {op_type, 1, kLatestVersion, true, RefuseReduction, LowerReduction, "", kOnlyFloats, kFloats, true};
}

constexpr Lowering kReductionLowerings[] = {Reduced("ReduceSum"), Reduced("ReduceMean"), Reduced("ReduceProd"),
                                            Reduced("ReduceL1"),  Reduced("ReduceL2"),   Reduced("ReduceSumSquare")};

}  // namespace

std::span<const Lowering> ReductionLowerings() { return kReductionLowerings; }

}  // namespace tessera::onednn
