// LpPool (1, 2, 11, 18, 22) and GlobalLpPool (1, 2, 22): (sum |x|^p)^(1/p).

#include <cmath>

#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/nn/pool.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

PoolKind KindFor(double p) { return p == 1 ? PoolKind::kSumOfAbs : p == 2 ? PoolKind::kSumOfSquares : PoolKind::kSum; }

/// |x|^p, for p other than 1 and 2, which the row kernels raise themselves.
template <class C>
const C* RaiseAll(KernelContext& context, const C* in, int64_t count, double p) {
  C* out = context.scratch<C>(static_cast<size_t>(count)).data();
  context.threads().ParallelFor(count, 20, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = std::pow(std::abs(in[i]), static_cast<C>(p));
  });
  return out;
}

template <class C>
C Root(C sum, double p) {
  return p == 1 ? sum : p == 2 ? std::sqrt(sum) : std::pow(sum, static_cast<C>(1.0 / p));
}

template <class T>
class LpPool final : public Kernel {
 public:
  explicit LpPool(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    using C = ComputeType<T>;
    const Tensor& input = context.required_input(0);
    const Window window = attributes_.Fit(input.shape());
    Tensor* output = context.output(0, PoolAttributes::ResultShape(input.shape(), window));
    if (output == nullptr || output->num_elements() == 0) return;
    const double p = attributes_.p;
    const PoolKind kind = KindFor(p);
    const C* in = ComputeView<T>(context, &input);
    if (kind == PoolKind::kSum) in = RaiseAll<C>(context, in, input.num_elements(), p);
    ComputeResult<T> result(context, *output);
    const PoolFinish finish = p == 2 ? PoolFinish::kSquareRoot : PoolFinish::kNone;
    PoolPlanes<C>(context, window, input.shape().SizeOfRange(0, 2), kind, finish, kNothingCounted).Run(in, result.data());
    if (kind == PoolKind::kSum) {
      C* out = result.data();
      context.threads().ParallelFor(output->num_elements(), 20, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = Root(out[i], p);
      });
    }
    result.Finish();
  }

 private:
  PoolAttributes attributes_;
};

template <class T>
class GlobalLpPool final : public Kernel {
 public:
  explicit GlobalLpPool(const KernelInfo& info) : p_(PoolAttributes(info.node()).p) {}

  void Compute(KernelContext& context) override {
    using C = ComputeType<T>;
    const Tensor& input = context.required_input(0);
    const size_t rank = input.shape().rank();
    Require(rank >= 2, "GlobalLpPool needs batch and channels, the input is {}", input.shape());
    Shape shape(rank, 1);
    shape[0] = input.shape()[0];
    shape[1] = input.shape()[1];
    Tensor* output = context.output(0, shape);
    if (output == nullptr) return;
    const PoolKind kind = KindFor(p_);
    const C* in = ComputeView<T>(context, &input);
    if (kind == PoolKind::kSum) in = RaiseAll<C>(context, in, input.num_elements(), p_);
    const int64_t size = input.shape().SizeOfRange(2, rank);
    ComputeResult<T> result(context, *output);
    C* out = result.data();
    context.threads().ParallelFor(shape.num_elements(), 10 + 0.2 * static_cast<double>(size),
                                  [&](int64_t begin, int64_t end) {
                                    for (int64_t i = begin; i < end; ++i)
                                      out[i] = Root(ReducePoolRow<C>(kind, in + i * size, size), p_);
                                  });
    result.Finish();
  }

 private:
  double p_;
};

}  // namespace

void RegisterLpPool(KernelRegistry& registry) {
  registry.Add(Op("LpPool").Types(0, kFloats).Factory(MakeTyped<LpPool, FloatTypes>));
}
void RegisterGlobalLpPool(KernelRegistry& registry) {
  registry.Add(Op("GlobalLpPool").Types(0, kFloats).Factory(MakeTyped<GlobalLpPool, FloatTypes>));
}

}  // namespace tessera::cpu
