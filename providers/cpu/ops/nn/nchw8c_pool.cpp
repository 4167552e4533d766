// Nchw8cMaxPool, Nchw8cAveragePool (ai.tessera 1): MaxPool without indices and AveragePool in NCHW8c.

#include "cpu/ops/nn/nchw8c_layout.h"
#include "cpu/ops/ops.h"
#include "ops/nn/pool.h"

namespace tessera::cpu {
namespace {

class Nchw8cPooling : public Kernel {
 public:
  Nchw8cPooling(const PoolAttributes& attributes, Nchw8cPool kind) : attributes_(attributes), kind_(kind) {
    Require(attributes_.window.has_kernel(), "attribute 'kernel_shape' is required");
    Require(kind != Nchw8cPool::kAverageWithPads || !attributes_.window.ceil_mode(),
            "count_include_pad with ceil_mode is not supported in blocks");
  }

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    RequireNchw8c(input);
    const Shape& shape = input.shape();
    const Window fitted = attributes_.window.Fit(SpatialDims(shape), attributes_.window.kernel().dims());
    Tensor* output = context.output(0, Nchw8cShape(shape[0], shape[1], fitted.output.dims()));
    if (output == nullptr || output->num_elements() == 0) return;
    const float* in = input.data<float>();
    float* out = output->mutable_data<float>();
    const Nchw8cWindow window = ToNchw8cWindow(fitted.WithRank(kSpatialAxes));
    const double cost = 20 + static_cast<double>(window.x.output * (1 + window.positions()));
    context.threads().ParallelFor(shape[0] * shape[1] * window.z.output * window.y.output, cost,
                                  [&](int64_t begin, int64_t end) { PoolNchw8c(window, kind_, in, begin, end, out); });
  }

 private:
  PoolAttributes attributes_;
  Nchw8cPool kind_;
};

class Nchw8cMaxPool final : public Nchw8cPooling {
 public:
  explicit Nchw8cMaxPool(const KernelInfo& info) : Nchw8cPooling(PoolAttributes(info.node()), Nchw8cPool::kMax) {}
};

class Nchw8cAveragePool final : public Nchw8cPooling {
 public:
  explicit Nchw8cAveragePool(const KernelInfo& info) : Nchw8cAveragePool(PoolAttributes(info.node())) {}

 private:
  explicit Nchw8cAveragePool(const PoolAttributes& attributes)
      : Nchw8cPooling(attributes, attributes.count_include_pad ? Nchw8cPool::kAverageWithPads : Nchw8cPool::kAverage) {}
};

}  // namespace

void RegisterNchw8cMaxPool(KernelRegistry& registry) {
  if (SuitsChannelBlocks()) registry.Add(Nchw8cOp("Nchw8cMaxPool").Make<Nchw8cMaxPool>());
}
void RegisterNchw8cAveragePool(KernelRegistry& registry) {
  if (SuitsChannelBlocks()) registry.Add(Nchw8cOp("Nchw8cAveragePool").Make<Nchw8cAveragePool>());
}

}  // namespace tessera::cpu
