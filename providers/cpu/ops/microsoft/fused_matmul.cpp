// FusedMatMul and its older name TransposeMatMul, com.microsoft, version 1: alpha times numpy.matmul of operands that are
// transposed as they are read.

#include "cpu/ops/nn/gemm_calls.h"
#include "cpu/ops/nn/packed_matrices.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
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

Matrices Arrange(const Shape& given, bool transposed, bool batch_first) {
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
  if (batch_first && rank > 2) {  // [rows, batch..., columns]
    m.row = given.SizeOfRange(1, rank);
    m.batch = given[rank - 1];
    for (size_t i = 0; i + 2 < rank; ++i) m.shape[i] = given[i + 1];
    m.shape[rank - 2] = given[0];
  }
  if (transposed) {
    std::swap(m.shape[rank - 2], m.shape[rank - 1]);
    std::swap(m.row, m.column);
  }
  return m;
}

template <class T>
class FusedMatMul final : public Kernel {
  using C = ComputeType<T>;

 public:
  explicit FusedMatMul(const KernelInfo& info) : alpha_(static_cast<C>(info.attribute<float>("alpha", 1.0f))) {
    const auto flag = [&](const char* name) { return info.attribute<int64_t>(name, 0) != 0; };
    transposed_[0] = flag("transA");
    transposed_[1] = flag("transB");
    batch_first_[0] = flag("transBatchA");
    batch_first_[1] = flag("transBatchB");
    const Tensor* b = info.constant_input(1);
    if (b == nullptr || b->shape().rank() != 2 || b->num_elements() == 0) return;
    b_shape_ = b->shape();
    const int64_t k = b_shape_[transposed_[1] ? 1 : 0], n = b_shape_[transposed_[1] ? 0 : 1];
    packed_b_ = PackMatrices<C>(info, 1, 1, k, n, transposed_[1]);
  }

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor* b = packed_b_ ? nullptr : &context.required_input(1);
    const Matrices left = Arrange(a.shape(), transposed_[0], batch_first_[0]);
    const Matrices right = Arrange(packed_b_ ? b_shape_ : b->shape(), transposed_[1], batch_first_[1]);
    const MatMulShape shape = InferMatMulShape(left.shape, right.shape);
    Tensor* output = context.output(0, shape.output);
    if (output == nullptr || output->num_elements() == 0) return;
    const C* a_values = ComputeView<T>(context, &a);
    const C* b_values = ComputeView<T>(context, b);
    ComputeResult<T> result(context, *output);
    int64_t count = shape.batch.num_elements();
    GemmArgs<C> args;
    args.m = shape.m;
    args.n = shape.n;
    args.k = shape.k;
    args.a = a_values;
    args.a_row = left.row;
    args.a_k = left.column;
    if (packed_b_) packed_b_.SetB(args);
    args.b = b_values;
    args.b_k = right.row;
    args.b_col = right.column;
    args.c = result.data();
    args.c_row = shape.n;
    args.alpha = alpha_;
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
        GemmArgs<C> one = args;
        one.a += a_matrices[i] * left.batch;
        if (!packed_b_) one.b += b_matrices[i] * right.batch;
        one.c += i * shape.m * shape.n;
        return one;
      });
    }
    result.Finish();
  }

 private:
  C alpha_;
  bool transposed_[2];
  bool batch_first_[2];
  Shape b_shape_;
  PackedMatrices packed_b_;
};

}  // namespace

void RegisterFusedMatMul(KernelRegistry& registry) {
  registry.Add(Op("FusedMatMul", "com.microsoft").Types(0, kFloats).Factory(MakeTyped<FusedMatMul, FloatTypes>));
  registry.Add(Op("TransposeMatMul", "com.microsoft").Types(0, kFloats).Factory(MakeTyped<FusedMatMul, FloatTypes>));
}

}  // namespace tessera::cpu
