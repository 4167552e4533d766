#pragma once

// numpy.matmul's shape rules.

#include <algorithm>

#include "base/check.h"
#include "tessera/provider/kernel.h"

namespace tessera {

/// The matmul's sizes, after 1-D operands became matrices and batch axes were broadcast.
struct MatMulShape {
  int64_t m, n, k;
  Shape batch;
  Shape output;
};

inline MatMulShape InferMatMulShape(const Shape& a, const Shape& b) {
  Require(a.rank() > 0 && b.rank() > 0, "the operands are {} and {}: scalars cannot be multiplied", a, b);
  MatMulShape shape;
  shape.m = a.rank() == 1 ? 1 : a[a.rank() - 2];
  shape.k = a.back();
  shape.n = b.rank() == 1 ? 1 : b.back();
  const int64_t b_rows = b.rank() == 1 ? b[0] : b[b.rank() - 2];
  Require(shape.k == b_rows, "K is {} in A {} and {} in B {}", shape.k, a, b_rows, b);
  const size_t a_batch = a.rank() < 2 ? 0 : a.rank() - 2;
  const size_t b_batch = b.rank() < 2 ? 0 : b.rank() - 2;
  const size_t rank = std::max(a_batch, b_batch);
  shape.batch = Shape(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t left = i + a_batch < rank ? 1 : a[i + a_batch - rank];
    const int64_t right = i + b_batch < rank ? 1 : b[i + b_batch - rank];
    Require(left == right || left == 1 || right == 1, "the batch axes of A {} and B {} do not broadcast", a, b);
    shape.batch[i] = left == 1 ? right : left;
  }
  shape.output = shape.batch;
  if (a.rank() > 1) shape.output.Append(shape.m);
  if (b.rank() > 1) shape.output.Append(shape.n);
  return shape;
}

/// By batch index: which matrix of an operand it uses.
inline std::span<int64_t> OperandMatrices(KernelContext& context, const Shape& operand, const Shape& batch, int64_t count) {
  const auto matrices = context.scratch<int64_t>(static_cast<size_t>(count));
  const size_t own = operand.rank() < 2 ? 0 : operand.rank() - 2;
  const size_t skipped = batch.rank() - own;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    int64_t stride = 1;
    int64_t matrix = 0;
    for (size_t axis = batch.rank(); axis-- > 0;) {
      const int64_t index = rest % batch[axis];
      rest /= batch[axis];
      if (axis < skipped) continue;
      const int64_t dim = operand[axis - skipped];
      if (dim != 1) matrix += index * stride;
      stride *= dim;
    }
    matrices[i] = matrix;
  }
  return matrices;
}

}  // namespace tessera
