// MatMul (1, 9, 13): numpy.matmul.

#include "ops/math/matmul.h"

#include <type_traits>

#include "cpu/ops/nn/gemm_calls.h"
#include "cpu/ops/nn/packed_matrices.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

template <class T>
class MatMul final : public Kernel {
  using C = ComputeType<T>;

 public:
  explicit MatMul(const KernelInfo& info) {
    const Tensor* b = info.constant_input(1);
    if (b == nullptr || b->shape().rank() < 2 || b->num_elements() == 0) return;
    b_shape_ = b->shape();
    const size_t rank = b_shape_.rank();
    packed_b_ = PackMatrices<C>(info, 1, b_shape_.SizeOfRange(0, rank - 2), b_shape_[rank - 2], b_shape_[rank - 1], false);
  }

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor* b = packed_b_ ? nullptr : &context.required_input(1);
    const Shape& b_shape = packed_b_ ? b_shape_ : b->shape();
    MatMulShape shape = InferMatMulShape(a.shape(), b_shape);
    Tensor* output = context.output(0, shape.output);
    if (output == nullptr || output->num_elements() == 0) return;
    const C* a_values = ComputeView<T>(context, &a);
    const C* b_values = ComputeView<T>(context, b);
    ComputeResult<T> result(context, *output);
    int64_t count = shape.batch.num_elements();
    const int64_t b_count = b_shape.rank() < 2 ? 1 : b_shape.SizeOfRange(0, b_shape.rank() - 2);
    if (b_count == 1) {  // one matrix for every batch: more rows of A
      shape.m *= count;
      count = 1;
    }
    const auto gemm_args = [&](int64_t a_matrix, int64_t b_matrix, int64_t i) {
      GemmProblem<C> args;
      args.m = shape.m;
      args.n = shape.n;
      args.k = shape.k;
      args.lhs = {.data = a_values + a_matrix * shape.m * shape.k, .row = shape.k};
      args.rhs = packed_b_ ? packed_b_.Rhs<C>(b_matrix)
                           : GemmRhs<C>{.data = b_values + b_matrix * shape.k * shape.n, .k = shape.n};
      args.out = {.data = result.data() + i * shape.m * shape.n, .row = shape.n};
      return args;
    };
    if (count == 1) {
      RunGemms<C>(context, 1, [&](int64_t) { return gemm_args(0, 0, 0); });
    } else {
      const auto a_matrices = OperandMatrices(context, a.shape(), shape.batch, count);
      const auto b_matrices = OperandMatrices(context, b_shape, shape.batch, count);
      RunGemms<C>(context, count, [&](int64_t i) { return gemm_args(a_matrices[i], b_matrices[i], i); });
    }
    result.Finish();
  }

 private:
  Shape b_shape_;
  PackedMatrices packed_b_;
};

}  // namespace

void RegisterMatMul(KernelRegistry& registry) {
  registry.Add(Op("MatMul").Types(0, kFloats).Factory(MakeTyped<MatMul, FloatTypes>));
  // Signed products wrap like unsigned ones.
  constexpr TypeSet kWords = {ElementType::kInt32, ElementType::kUInt32};
  constexpr TypeSet kLongs = {ElementType::kInt64, ElementType::kUInt64};
  registry.Add(Op("MatMul").Types(0, kWords).Make<MatMul<uint32_t>>());
  registry.Add(Op("MatMul").Types(0, kLongs).Make<MatMul<uint64_t>>());
}

}  // namespace tessera::cpu
