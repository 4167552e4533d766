// MoE, com.microsoft, version 1: a mixture of experts whose weights are floats.

#include "cpu/ops/microsoft/mixture_of_experts.h"
#include "cpu/ops/nn/packed_matrices.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

/// Inputs of the weights, by Experts::Matrix; each bias is the next one.
constexpr size_t kWeights[] = {2, 4, 6};

/// Matrices [n, k] by expert.
struct ExpertMatrices {
  Shape shape;
  PackedMatrices packed;
  const float* plain = nullptr;  // where they are computed at run time
  const float* bias = nullptr;
};

class FloatExperts final : public Experts {
 public:
  explicit FloatExperts(const ExpertMatrices (&matrices)[3]) : matrices_(matrices) {}

  bool has_third() const override { return matrices_[kThird].shape.rank() == 3; }

  void Multiply(KernelContext& context, Matrix matrix, int64_t expert, const float* a, int64_t rows,
                float* c) const override {
    const ExpertMatrices& matrices = matrices_[matrix];
    GemmProblem<float> args;
    args.m = rows;
    args.n = matrices.shape[1];
    args.k = matrices.shape[2];
    args.lhs = {.data = a, .row = args.k};
    args.rhs = matrices.packed ? matrices.packed.Rhs<float>(expert)
                               : GemmRhs<float>{.data = matrices.plain + expert * args.n * args.k, .k = 1, .col = args.k};
    args.out = {.data = c, .row = args.n};
    if (matrices.bias != nullptr) args.epilogue.bias = matrices.bias + expert * args.n;
    Gemm(context.threads(), args);
  }

 private:
  const ExpertMatrices (&matrices_)[3];
};

template <class T>
class MoE final : public Kernel {
 public:
  explicit MoE(const KernelInfo& info) : attributes_(info) {
    for (size_t i = 0; i < std::size(kWeights); ++i) {
      const Tensor* weights = info.constant_input(kWeights[i]);
      if (weights == nullptr || weights->shape().rank() != 3 || weights->num_elements() == 0) continue;
      matrices_[i].shape = weights->shape();
      matrices_[i].packed =
          PackFloatMatrices(info, kWeights[i], weights->shape()[0], weights->shape()[2], weights->shape()[1], true);
    }
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& router = context.required_input(1);
    ExpertMatrices matrices[3];
    for (size_t i = 0; i < std::size(kWeights); ++i) matrices[i] = Matrices(context, i);
    const MixtureSizes sizes = CheckMixture(attributes_, x.shape(), router.shape(), matrices[0].shape, matrices[1].shape);
    Check(sizes, matrices);
    Tensor* output = context.output(0, x.shape());
    if (output == nullptr || output->num_elements() == 0) return;
    ComputeResult<T> result(context, *output);
    RunMixture(context, attributes_, sizes, RouterSoftmax::kOfAll, ComputeView<T>(context, &x),
               ComputeView<T>(context, &router), nullptr, FloatExperts(matrices), result.data());
    result.Finish();
  }

 private:
  ExpertMatrices Matrices(KernelContext& context, size_t i) const {
    ExpertMatrices matrices = matrices_[i];
    if (!matrices.packed && context.input(kWeights[i]) == nullptr && i == Experts::kThird) return {};
    if (!matrices.packed) {
      const Tensor& weights = context.required_input(kWeights[i]);
      Require(weights.is(ElementTypeOf<T>), "weights are {}, the input is {}", ElementTypeName(weights.type()),
              ElementTypeName(ElementTypeOf<T>));
      matrices.shape = weights.shape();
      matrices.plain = ComputeView<T>(context, &weights);
    }
    const Tensor* bias = context.input(kWeights[i] + 1);
    const bool fits =
        bias == nullptr || (matrices.shape.rank() == 3 && bias->shape() == Shape{matrices.shape[0], matrices.shape[1]});
    Require(fits, "a bias is {} beside weights {}", OptionalShape{bias}, matrices.shape);
    matrices.bias = ComputeView<T>(context, bias);
    return matrices;
  }

  void Check(const MixtureSizes& s, const ExpertMatrices (&matrices)[3]) const {
    const Shape &first = matrices[0].shape, &second = matrices[1].shape, &third = matrices[2].shape;
    Require(first[2] == s.hidden && second[2] == s.inner, "fc1 is {} and fc2 {} for an input of {}", first, second,
            s.hidden);
    Require(third.rank() == 0 || third == Shape{s.experts, s.inner, s.hidden}, "fc3 is {}; [{},{},{}] is expected", third,
            s.experts, s.inner, s.hidden);
  }

  MixtureAttributes attributes_;
  ExpertMatrices matrices_[3];  // constant ones
};

}  // namespace

void RegisterMoE(KernelRegistry& registry) {
  registry.Add(Op("MoE", "com.microsoft")
                   .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                   .Factory(MakeTyped<MoE, TypeList<float, Float16, BFloat16>>));
}

}  // namespace tessera::cpu
