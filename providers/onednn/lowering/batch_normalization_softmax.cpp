// BatchNormalization (inference, 7-15) -> batch_normalization_forward; Softmax (13, and earlier on the last axis) -> a step
// of our own; LRN -> lrn_forward.

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/rounding.h"
#include "kernels/normalize/softmax.h"
#include "onednn/lowering/lowering.h"
#include "onednn/program/shared_weights.h"

namespace tessera::onednn {
namespace {

std::string RefuseBatchNorm(const GraphViewer& graph, const Node& node) {
  if (AttributeOr<int64_t>(node, "training_mode", 0) != 0) return "training mode is left to the CPU provider";
  if (node.since_version < 9 && AttributeOr<int64_t>(node, "spatial", 1) == 0)
    return "statistics for each element are left to the CPU provider";
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
  // product.
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
  AddBatchNorm(builder, x, AttributeOr<float>(node, "epsilon", 1e-5f), parameters, node.outputs[0]);
}

std::string RefuseSoftmax(const GraphViewer& graph, const Node& node) {
  const auto rank = static_cast<int64_t>(graph.value(node.inputs[0]).type.shape->size());
  const auto axis = AttributeOr<int64_t>(node, "axis", node.since_version < 13 ? 1 : -1);
  const auto last = axis < 0 ? axis + rank : axis;
  if (rank == 0 || last < 0 || last >= rank) return "its axis is outside the input";
  if (node.since_version < 13 && last != rank - 1) return "before version 13 an inner axis flattens the input";
  return {};
}

/// The CPU provider's, along the middle one of three axes: oneDNN's leaves numbers in a row that has NaN or infinity.
class SoftmaxStep final : public NativeStep {
 public:
  SoftmaxStep(int64_t outer, int64_t count, int64_t inner) : outer_(outer), count_(count), inner_(inner) {}

  void Run(std::span<void* const> memories, ThreadPool& threads) const override {
    constexpr double kNsPerNumber = 0.5;
    const auto* x = static_cast<const float*>(memories[0]);
    auto* y = static_cast<float*>(memories[1]);
    const auto& kernels = cpu::SoftmaxKernelsF32();
    const double ns = kNsPerNumber * static_cast<double>(count_);
    if (inner_ == 1) {
      return threads.ParallelFor(outer_, ns, [&](int64_t begin, int64_t end) {
        kernels.rows(x + begin * count_, y + begin * count_, end - begin, count_, false);
      });
    }
    const int64_t blocks = CeilDiv(inner_, cpu::kSoftmaxColumns);
    threads.ParallelFor(
        outer_ * blocks, ns * static_cast<double>(std::min(inner_, cpu::kSoftmaxColumns)), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t column = i % blocks * cpu::kSoftmaxColumns, first = i / blocks * count_ * inner_ + column;
            kernels.columns(x + first, y + first, count_, inner_, std::min(cpu::kSoftmaxColumns, inner_ - column), false);
          }
        });
  }

 private:
  int64_t outer_, count_, inner_;
};

void LowerSoftmax(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  const auto axis = AttributeOr<int64_t>(node, "axis", node.since_version < 13 ? 1 : -1);
  const auto at = x.dims.end() + (axis < 0 ? axis : axis - static_cast<int64_t>(x.dims.size()));
  const MemoryIndex src = builder.InPlainLayout(x), dst = builder.Temporary(builder.desc(src));
  if (Elements(x.dims) > 0)
    builder.AddNative(
        std::make_shared<SoftmaxStep>(Elements(Dims(x.dims.begin(), at)), *at, Elements(Dims(at + 1, x.dims.end()))),
        {src, dst});
  builder.SetOutput(node, {x.dims, dst});
}

std::string RefuseLrn(const GraphViewer& graph, const Node& node) {
  const size_t rank = graph.value(node.inputs[0]).type.shape->size();
  if (rank < 3 || rank > 5) return "oneDNN normalizes over channels with one to three spatial dimensions";
  const auto size = AttributeOr<int64_t>(node, "size", 0);
  return size < 1 || size % 2 == 0 ? "a window of an even number of channels stands elsewhere in oneDNN" : std::string();
}

void LowerLrn(ProgramBuilder& builder, const Node& node) {
  const RegionValue x = builder.input(node, 0);
  // The fast implementation reads channels by the block.
  const MemoryIndex src =
      x.dims.size() == 4 && x.dims[1] % ChannelBlock() == 0 ? builder.InLayout(x.memory, ChannelNchw8c(x.dims)) : x.memory;
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto describe = [&](const Desc& layout) {
    return LrnDesc(CpuEngine(), layout, AttributeOr<int64_t>(node, "size", 1), AttributeOr<float>(node, "alpha", 1e-4f),
                   AttributeOr<float>(node, "beta", 0.75f), AttributeOr<float>(node, "bias", 1.0f), attr);
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

constexpr Lowering kNormalizationLowerings[] = {
    {"BatchNormalization", 7, kLatestVersion, false, RefuseBatchNorm, LowerBatchNorm},
    {"LRN", 1, kLatestVersion, false, RefuseLrn, LowerLrn},
    {"Softmax", 1, kLatestVersion, false, RefuseSoftmax, LowerSoftmax}};

}  // namespace

std::span<const Lowering> NormalizationLowerings() { return kNormalizationLowerings; }

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
      return builder.Constant(vector, SharedWeights::Derived(name + key, affine.sources(), vector, make));
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
