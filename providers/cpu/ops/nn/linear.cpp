// Linear (ai.tessera 1): activation(X W + B + R). Inputs X [..., K], a constant matrix W [K, N] (transB: [N, K]), and
// optional: B, N numbers; R, as large as the result. All are floats, but W may be float16 or bfloat16. Lowering makes it
// (fuse_linear).

#include "cpu/fused_activation.h"
#include "cpu/ops/nn/gemm_calls.h"
#include "cpu/ops/nn/packed_matrices.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "graph/private_names.h"

namespace tessera::cpu {
namespace {

class Linear final : public Kernel {
 public:
  explicit Linear(const KernelInfo& info) : activation_(FusedActivationInRegisters<float>(info)) {
    const Tensor* w = info.constant_input(1);
    const bool real =
        w != nullptr && (w->is(ElementType::kFloat) || w->is(ElementType::kFloat16) || w->is(ElementType::kBFloat16));
    Require(real && w->shape().rank() == 2 && w->num_elements() > 0,
            "W must be a constant matrix of float, float16 or bfloat16");
    const bool transposed = info.attribute<int64_t>("transB", 0) != 0;
    k_ = w->shape()[transposed ? 1 : 0];
    n_ = w->shape()[transposed ? 0 : 1];
    packed_ = PackFloatMatrices(info, 1, 1, k_, n_, transposed);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Require(x.shape().rank() > 0 && x.shape().back() == k_, "K is {} in W, X is {}", k_, x.shape());
    Shape shape = x.shape();
    shape[shape.rank() - 1] = n_;
    const Tensor* bias = context.input(2);
    const Tensor* residual = context.input(3);
    Require(bias == nullptr || (bias->is(ElementType::kFloat) && bias->num_elements() == n_), "B must be {} floats", n_);
    Require(residual == nullptr || (residual->is(ElementType::kFloat) && residual->num_elements() == shape.num_elements()),
            "R must be floats, as many as in the result {}", shape);
    Tensor* output = context.output(0, shape);
    if (output == nullptr || output->num_elements() == 0) return;
    GemmProblem<float> args;
    args.m = output->num_elements() / n_;
    args.n = n_;
    args.k = k_;
    args.lhs = {.data = x.data<float>(), .row = k_};
    args.rhs = packed_.Rhs<float>();
    args.out = {.data = output->mutable_data<float>(), .row = n_};
    args.epilogue = {.bias = bias == nullptr ? nullptr : bias->data<float>(),
                     .residual = residual == nullptr ? nullptr : residual->data<float>(),
                     .activation = activation_};
    RunGemms<float>(context, 1, [&](int64_t) { return args; });
  }

 private:
  Activation<float> activation_;
  int64_t k_, n_;
  PackedMatrices packed_;
};

}  // namespace

void RegisterLinear(KernelRegistry& registry) {
  registry.Add(Op("Linear", kTesseraDomain).Types(0, {ElementType::kFloat}).Make<Linear>());
}

}  // namespace tessera::cpu
