// Gemm (1, 6, 7, 9, 11, 13): alpha * A' * B' + beta * C.

#include <limits>
#include <type_traits>

#include "cpu/ops/nn/gemm_calls.h"
#include "cpu/ops/nn/packed_matrices.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/math/gemm.h"

namespace tessera::cpu {
namespace {

/// Truncates like a cast, and saturates where a cast would be undefined.
template <class T>
T FromDouble(double value) {
  if (!(value > static_cast<double>(std::numeric_limits<T>::lowest())))
    return value != value ? T{0} : std::numeric_limits<T>::lowest();
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

template <class C>
GemmProblem<C> Describe(const GemmAttributes& attributes, const GemmSizes& sizes, const C* a, const C* b, C* out) {
  GemmProblem<C> args;
  args.m = sizes.m;
  args.n = sizes.n;
  args.k = sizes.k;
  args.lhs = {.data = a, .row = attributes.trans_a ? 1 : sizes.k, .k = attributes.trans_a ? sizes.m : 1};
  args.rhs = {.data = b, .k = attributes.trans_b ? 1 : sizes.n, .col = attributes.trans_b ? sizes.k : 1};
  args.out = {.data = out, .row = sizes.n};
  return args;
}

template <class T>
class FloatGemm final : public Kernel {
  using C = ComputeType<T>;

 public:
  explicit FloatGemm(const KernelInfo& info) : attributes_(info.node()) {
    const Tensor* b = info.constant_input(1);
    if (b == nullptr || b->shape().rank() != 2 || b->num_elements() == 0) return;
    b_shape_ = b->shape();
    const bool transposed = attributes_.trans_b;
    packed_b_ = PackMatrices<C>(info, 1, 1, b_shape_[transposed ? 1 : 0], b_shape_[transposed ? 0 : 1], transposed);
  }

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor* b = packed_b_ ? nullptr : &context.required_input(1);
    const GemmSizes sizes = attributes_.Infer(a.shape(), packed_b_ ? b_shape_ : b->shape());
    const Tensor* c = context.input(2);
    const GemmAddend addend = c == nullptr ? GemmAddend{} : BroadcastAddend(c->shape(), sizes.m, sizes.n);
    Tensor* output = context.output(0, Shape{sizes.m, sizes.n});
    if (output == nullptr || output->num_elements() == 0) return;
    ComputeResult<T> result(context, *output);
    GemmProblem<C> args =
        Describe<C>(attributes_, sizes, ComputeView<T>(context, &a), ComputeView<T>(context, b), result.data());
    if (packed_b_) args.rhs = packed_b_.Rhs<C>();
    args.alpha = static_cast<C>(attributes_.alpha);
    if (c != nullptr && attributes_.beta != 0) AddC(context, ComputeView<T>(context, c), addend, args);
    RunGemms<C>(context, 1, [&](int64_t) { return args; });
    result.Finish();
  }

 private:
  void AddC(KernelContext& context, const C* c, GemmAddend addend, GemmProblem<C>& args) const {
    const C beta = static_cast<C>(attributes_.beta);
    if (addend.row != 0 && addend.column != 0) {
      if (attributes_.beta == 1) {
        args.epilogue.residual = c;
        return;
      }
      const int64_t n = args.n;
      context.threads().ParallelFor(args.m, static_cast<double>(n) * 0.3,
                                    [&, out = args.out.data](int64_t begin, int64_t end) {
                                      for (int64_t i = begin * n; i < end * n; ++i) out[i] = c[i] * beta;
                                    });
      args.accumulate = true;
      return;
    }
    const bool by_row = addend.row != 0;
    const int64_t count = by_row ? args.m : args.n;
    const int64_t step = by_row ? addend.row : addend.column;
    const C* bias = c;
    if (attributes_.beta != 1 || step == 0) {
      const auto scaled = context.scratch<C>(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) scaled[i] = c[i * step] * beta;
      bias = scaled.data();
    }
    args.epilogue = {.bias = bias, .channels_are_rows = by_row};
  }

  GemmAttributes attributes_;
  Shape b_shape_;
  PackedMatrices packed_b_;
};

/// Integers: the product wraps; alpha and beta other than 1 are applied in double and truncated.
template <class T>
class IntegerGemm final : public Kernel {
 public:
  explicit IntegerGemm(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    using U = std::make_unsigned_t<T>;
    const Tensor& a = context.required_input(0);
    const Tensor& b = context.required_input(1);
    const Tensor* c = context.input(2);
    const GemmSizes sizes = attributes_.Infer(a.shape(), b.shape());
    const GemmAddend addend = c == nullptr ? GemmAddend{} : BroadcastAddend(c->shape(), sizes.m, sizes.n);
    Tensor* output = context.output(0, Shape{sizes.m, sizes.n});
    if (output == nullptr || output->num_elements() == 0) return;
    const GemmProblem<U> args = Describe<U>(attributes_, sizes, static_cast<const U*>(a.raw()),
                                            static_cast<const U*>(b.raw()), static_cast<U*>(output->mutable_raw()));
    RunGemms<U>(context, 1, [&](int64_t) { return args; });
    const bool scaled = attributes_.alpha != 1 || (c != nullptr && attributes_.beta != 1);
    T* out = output->mutable_data<T>();
    const T* added = c == nullptr ? nullptr : c->data<T>();
    if (!scaled && added == nullptr) return;
    for (int64_t i = 0; i < sizes.m; ++i) {
      for (int64_t j = 0; j < sizes.n; ++j) {
        T& y = out[i * sizes.n + j];
        const T extra = added == nullptr ? T{0} : added[i * addend.row + j * addend.column];
        y = scaled ? FromDouble<T>(static_cast<double>(y) * static_cast<double>(attributes_.alpha) +
                                   static_cast<double>(extra) * static_cast<double>(attributes_.beta))
                   : static_cast<T>(static_cast<U>(y) + static_cast<U>(extra));
      }
    }
  }

 private:
  GemmAttributes attributes_;
};

}  // namespace

void RegisterGemm(KernelRegistry& registry) {
  using Integers = TypeList<int32_t, int64_t, uint32_t, uint64_t>;
  registry.Add(Op("Gemm").Types(0, kFloats).Factory(MakeTyped<FloatGemm, FloatTypes>));
  registry.Add(Op("Gemm").Types(0, ToTypeSet(Integers{})).Factory(MakeTyped<IntegerGemm, Integers>));
}

}  // namespace tessera::cpu
