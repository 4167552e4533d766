// FusedMatMul and its older name TransposeMatMul, com.microsoft, version 1: alpha times numpy.matmul of operands that are
// transposed as they are read.

#include "cpu/ops/nn/gemm_calls.h"
#include "cpu/ops/nn/packed_matrices.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/math/gemm.h"
#include "ops/math/matmul.h"

namespace tessera::cpu {
namespace {

/// An operand as a batch of matrices, wherever their rows and columns lie.
struct Matrices {
  Shape shape;         // as numpy.matmul sees it
  int64_t row = 0;     // stride between rows
  int64_t column = 0;  // between columns
  int64_t batch = 0;   // between the matrices of the last batch axis; further axes follow it densely
};

Matrices Arrange(const Shape& given, const FusedMatMulAttributes::Operand& operand) {
  Matrices m;
  m.shape = given;
  const size_t rank = given.rank();
  Require(rank > 0, "scalars cannot be multiplied");
  if (rank == 1) {
    m.column = 1;
    m.row = 1;
    return m;
  }
  m.column = 1;
  m.row = given[rank - 1];
  m.batch = given[rank - 2] * given[rank - 1];
  if (operand.batch_first && rank > 2) {
    m.row = given.SizeOfRange(1, rank);
    m.batch = given[rank - 1];
  }
  if (operand.transposed) std::swap(m.row, m.column);
  operand.Arrange(m.shape, rank);
  return m;
}

template <class T>
class FusedMatMul final : public Kernel {
  using C = ComputeType<T>;

 public:
  explicit FusedMatMul(const KernelInfo& info) : attributes_(info.node()) {
    const Tensor* b = info.constant_input(1);
    if (b == nullptr || b->shape().rank() != 2 || b->num_elements() == 0) return;
    b_shape_ = b->shape();
    const bool transposed = attributes_.b.transposed;
    packed_b_ = PackMatrices<C>(info, 1, 1, b_shape_[transposed ? 1 : 0], b_shape_[transposed ? 0 : 1], transposed);
  }

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor* b = packed_b_ ? nullptr : &context.required_input(1);
    const Matrices left = Arrange(a.shape(), attributes_.a);
    const Matrices right = Arrange(packed_b_ ? b_shape_ : b->shape(), attributes_.b);
    const MatMulShape shape = InferMatMulShape(left.shape, right.shape);
    Tensor* output = context.output(0, shape.output);
    if (output == nullptr || output->num_elements() == 0) return;
    const C* a_values = ComputeView<T>(context, &a);
    const C* b_values = ComputeView<T>(context, b);
    ComputeResult<T> result(context, *output);
    int64_t count = shape.batch.num_elements();
    GemmProblem<C> args;
    args.m = shape.m;
    args.n = shape.n;
    args.k = shape.k;
    args.lhs = {.data = a_values, .row = left.row, .k = left.column};
    args.rhs = packed_b_ ? packed_b_.Rhs<C>() : GemmRhs<C>{.data = b_values, .k = right.row, .col = right.column};
    args.out = {.data = result.data(), .row = shape.n};
    args.alpha = static_cast<C>(attributes_.alpha);
    const bool one_b = right.shape.rank() <= 2;
    if (one_b && left.batch == shape.m * left.row) {  // one matrix for every batch: more rows of A
      args.m *= count;
      count = 1;
    }
    if (count == 1) {
      RunGemms<C>(context, 1, [&](int64_t) { return args; });
    } else {
      const auto a_matrices = OperandMatrices(context, left.shape, shape.batch, count);
      const auto b_matrices = OperandMatrices(context, right.shape, shape.batch, count);
      RunGemms<C>(context, count, [&](int64_t i) {
        GemmProblem<C> one = args;
        one.lhs.data += a_matrices[i] * left.batch;
        if (!packed_b_) one.rhs.data += b_matrices[i] * right.batch;
        one.out.data += i * shape.m * shape.n;
        return one;
      });
    }
    result.Finish();
  }

 private:
  FusedMatMulAttributes attributes_;
  Shape b_shape_;
  PackedMatrices packed_b_;
};

}  // namespace

void RegisterFusedMatMul(KernelRegistry& registry) {
  registry.Add(Op("FusedMatMul", "com.microsoft").Types(0, kFloats).Factory(MakeTyped<FusedMatMul, FloatTypes>));
  registry.Add(Op("TransposeMatMul", "com.microsoft").Types(0, kFloats).Factory(MakeTyped<FusedMatMul, FloatTypes>));
}

}  // namespace tessera::cpu
