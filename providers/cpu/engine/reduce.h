#pragma once

// The reduction engine: which dimensions go, collapsed, and folds over them on all threads.

#include <cstdint>

#include "kernels/reduce/fold.h"
#include "ops/reduction/reduce.h"
#include "tessera/provider/function_ref.h"
#include "tessera/provider/kernel.h"
#include "tessera/shape.h"

namespace tessera::cpu {

/// A tensor's dimensions seen as alternating kept and reduced groups. Elements of the output are numbered in row-major
/// order of the kept groups.
struct Reduction {
  /// `reduced` has one element per dimension of `input`: non-zero where it is reduced.
  Reduction(const Shape& input, const Shape& reduced);

  int64_t outputs = 1;  // elements of the result
  int64_t reduced = 1;  // elements that fold to one

  // The last group. With `inner_reduced` each result folds rows of `inner` contiguous elements, else `inner` neighbouring
  // results fold side by side.
  bool inner_reduced = true;
  int64_t inner = 1;
  // The groups before it, sizes and element strides, outermost first.
  Shape kept_sizes, kept_strides;
  Shape reduced_sizes, reduced_strides;
};

/// Folds `data` and hands blocks of results to `finish(first, values, count)`, from several threads at once. The result is
/// the same in every run with the same number of threads. T is the tensor's type and C the type to compute in: C is T,
/// float for the 16-bit floats, or double for integers. `shift` has one element per output, for the folds that use one.
template <class T, class C>
void FoldTensor(KernelContext& context, const Reduction& reduction, Fold fold, const T* data, const C* shift,
                FunctionRef<void(int64_t first, const Wide<C>* values, int64_t count)> finish);

}  // namespace tessera::cpu
