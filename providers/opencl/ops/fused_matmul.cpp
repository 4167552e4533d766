// FusedMatMul and its older name TransposeMatMul, com.microsoft, version 1.

#include <vector>

#include "opencl/ops/contraction.h"
#include "ops/math/gemm.h"
#include "ops/math/matmul.h"

namespace tessera::opencl {
namespace {

/// An operand of FusedMatMul: its dimensions as numpy.matmul would have them, and their strides.
struct Arranged {
  Arranged(const Shape& given, const FusedMatMulAttributes::Operand& operand) : shape(given), strides(RowMajor(given)) {
    Require(given.rank() > 0, "scalars cannot be multiplied");
    operand.Arrange(shape, given.rank());
    operand.Arrange(strides, given.rank());
  }
  size_t batch_rank() const { return shape.rank() < 2 ? 0 : shape.rank() - 2; }
  cl_long row() const { return shape.rank() < 2 ? 0 : strides[shape.rank() - 2]; }
  cl_long last() const { return strides[shape.rank() - 1]; }

  Shape shape;
  std::array<cl_long, kMostDims> strides;
};

class FusedMatMul final : public Kernel {
 public:
  explicit FusedMatMul(const KernelInfo& info) : attributes_(info.node()), contraction_(info) {}

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor& b = context.required_input(1);
    const Arranged left(a.shape(), attributes_.a), right(b.shape(), attributes_.b);
    const MatMulShape shape = InferMatMulShape(left.shape, right.shape);
    std::vector<Contraction::Dim> dims;
    cl_long stride = shape.output.num_elements();
    for (size_t i = 0; i < shape.batch.rank(); ++i) {
      Contraction::Dim dim{.size = shape.batch[i], .in_y = true};
      stride = shape.batch[i] == 0 ? 0 : stride / shape.batch[i];
      dim.y = stride;
      dim.in_a = StrideOf(left, i, shape.batch.rank(), dim.a);
      dim.in_b = StrideOf(right, i, shape.batch.rank(), dim.b);
      if (!dim.in_a && !dim.in_b) dim.in_a = true;  // of one element
      dims.push_back(dim);
    }
    dims.push_back({.size = shape.m, .a = left.row(), .y = shape.n, .in_a = true, .in_y = true});
    dims.push_back({.size = shape.n, .b = b.shape().rank() < 2 ? 0 : right.last(), .y = 1, .in_b = true, .in_y = true});
    dims.push_back({.size = shape.k,
                    .a = left.last(),
                    .b = b.shape().rank() < 2 ? right.last() : right.row(),
                    .in_a = true,
                    .in_b = true});
    contraction_.Run(context, a, &b, *context.output(0, shape.output), dims, attributes_.alpha);
  }

 private:
  /// Whether an operand has batch axis `i` with more than one matrix, and its stride.
  static bool StrideOf(const Arranged& operand, size_t i, size_t rank, cl_long& stride) {
    const size_t skipped = rank - operand.batch_rank();
    if (i < skipped || operand.shape[i - skipped] == 1) return false;
    stride = operand.strides[i - skipped];
    return true;
  }

  FusedMatMulAttributes attributes_;
  Contraction contraction_;
};

}  // namespace

void RegisterFusedMatMul(KernelRegistry& registry) {
  for (const char* op : {"FusedMatMul", "TransposeMatMul"})
    registry.Add(Op(op, "com.microsoft").Types(0, kReals).Make<FusedMatMul>());
}

}  // namespace tessera::opencl
