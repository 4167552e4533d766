#pragma once

// The two shapes that normalizations have: statistics of contiguous rows followed by a map of the same rows, and an affine
// map whose coefficients come from a reduction.

#include "cpu/engine/reduce.h"
#include "cpu/engine/row_access.h"
#include "tessera/provider/function_ref.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Mean and 1 / sqrt(variance + epsilon) of a row; without `center` mean is 0 and the variance the mean square.
struct RowStatistics {
  double mean;
  double inverse;
};

/// Gets each row's statistics, then calls `map(row, first, count, x, y, statistics)` for pieces that cover the row: `first`
/// is the piece's place in its row, x and y (perhaps the same memory) its elements. Called from several threads.
/// `statistics_of` (may be null) receives the `rows` statistics.
template <class C>
void NormalizeRows(KernelContext& context, const RowReader<C>& x, const RowWriter<C>& y, int64_t rows, int64_t count,
                   bool center, double epsilon, RowStatistics* statistics_of,
                   FunctionRef<void(int64_t row, int64_t first, int64_t count, const C* x, C* y, RowStatistics)> map);

/// y = (x - mean[o]) * a[o] + b[o], where o is the output of `reduction` that the element folds to.
template <class C>
void AffineOfReduced(KernelContext& context, const Reduction& reduction, const RowReader<C>& x, const RowWriter<C>& y,
                     const C* mean, const C* a, const C* b);

/// Planes of so many elements are gone through one by one (VisitPlanes); longer ones are shared by threads.
inline constexpr int64_t kMostOfPlane = 4096;

/// Calls `visit(first, count, channel)` for runs of planes of `size` elements, one of each of `channels` channels after
/// another, from several threads: planes [first, first + count) are of the channels from `channel` on.
void VisitPlanes(KernelContext& context, int64_t planes, int64_t channels, int64_t size,
                 FunctionRef<void(int64_t first, int64_t count, int64_t channel)> visit);

/// Mean and variance (of the population) of each output of `reduction`.
template <class C>
void MomentsOfReduced(KernelContext& context, const Reduction& reduction, const Tensor& x, C* mean, double* variance);

/// `tensor` broadcast to `shape`, as C. Throws Error when it does not broadcast.
template <class C>
void ExpandTo(const Tensor& tensor, std::span<const int64_t> shape, C* out);

}  // namespace tessera::cpu
