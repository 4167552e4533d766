// BlockedMaxPool, BlockedAveragePool (ai.tessera 1): MaxPool without indices and AveragePool over blocks of channels.

#include "ops/nn/blocked_layout.h"
#include "ops/ops.h"

namespace tessera::cpu {
namespace {

class BlockedPooling : public Kernel {
 public:
  BlockedPooling(const KernelInfo& info, BlockedPool kind) : attributes_(info.node()), kind_(kind) {
    Require(attributes_.has_kernel(), "attribute 'kernel_shape' is required");
    Require(kind != BlockedPool::kAverageWithPads || info.attribute<int64_t>("ceil_mode", 0) == 0,
            "count_include_pad with ceil_mode is not supported in blocks");
  }

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    RequireBlocked(input);
    const Shape& shape = input.shape();
    const Window fitted = attributes_.Fit(SpatialDims(shape), attributes_.kernel().dims());
    Tensor* output = context.output(0, BlockedShape(shape[0], shape[1], fitted.output.dims()));
    if (output == nullptr || output->num_elements() == 0) return;
    const float* in = input.data<float>();
    float* out = output->mutable_data<float>();
    const BlockedWindow window = ToBlockedWindow(fitted.WithRank(kSpatialAxes));
    const double cost = 20 + static_cast<double>(window.x.output * (1 + window.positions()));
    context.threads().ParallelFor(shape[0] * shape[1] * window.z.output * window.y.output, cost,
                                  [&](int64_t begin, int64_t end) { PoolBlocked(window, kind_, in, begin, end, out); });
  }

 private:
  WindowAttributes attributes_;
  BlockedPool kind_;
};

class BlockedMaxPool final : public BlockedPooling {
 public:
  explicit BlockedMaxPool(const KernelInfo& info) : BlockedPooling(info, BlockedPool::kMax) {}
};

class BlockedAveragePool final : public BlockedPooling {
 public:
  explicit BlockedAveragePool(const KernelInfo& info)
      : BlockedPooling(info, info.attribute<int64_t>("count_include_pad", 0) != 0 ? BlockedPool::kAverageWithPads
                                                                                  : BlockedPool::kAverage) {}
};

}  // namespace

void RegisterBlockedMaxPool(KernelRegistry& registry) {
  if (SuitsChannelBlocks()) registry.Add(BlockedOp("BlockedMaxPool").Make<BlockedMaxPool>());
}
void RegisterBlockedAveragePool(KernelRegistry& registry) {
  if (SuitsChannelBlocks()) registry.Add(BlockedOp("BlockedAveragePool").Make<BlockedAveragePool>());
}

}  // namespace tessera::cpu
