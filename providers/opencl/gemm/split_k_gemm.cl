// Few sums of many products, by slices of k, whose sums slice_sums.cl adds.

// The same struct stands in split_k_gemm.h. A slice has `slice` steps: of neighbours where step is 1, else every step-th.
typedef struct {
  int m, n, k, row_a, col_a, row_b, col_b;
  int slices, slice, step;
} SplitKGemm;

// Integers wrap.
#ifdef REAL_X
typedef TX Sum;
#else
typedef WX Sum;
#endif

#ifdef KERNEL_sum_slices
__kernel void sum_slices(ulong total, __global uchar* a_, ulong ao, __global uchar* b_, ulong bo, __global uchar* partial_sums_, ulong so, SplitKGemm p,
                         Strided stack) {
  const long slice = get_global_id(0), result = get_global_id(1);
  if ((ulong)slice >= total) return;
  long at_a = result / p.n * p.row_a, at_b = result % p.n * p.col_b, rest = get_global_id(2);
  for (int d = stack.rank - 1; d >= 0; --d) {
    const long at = rest % stack.dims[d];
    rest /= stack.dims[d];
    at_a += at * stack.a[d];
    at_b += at * stack.b[d];
  }
  const long first = p.step == 1 ? slice * p.slice : slice;
  const long left = first < p.k ? (p.k - first + p.step - 1) / p.step : 0, count = min(left, (long)p.slice);
  const long step_a = (long)p.step * p.col_a, step_b = (long)p.step * p.row_b;
  at_a += first * p.col_a;
  at_b += first * p.row_b;
  Sum partial_sums[8];
  for (int j = 0; j < 8; ++j) partial_sums[j] = 0;
  long i = 0;
  for (; i + 8 <= count; i += 8) {
#pragma unroll
    for (int j = 0; j < 8; ++j) partial_sums[j] += (Sum)GET_X(a_ + ao, at_a + j * step_a) * (Sum)GET_X(b_ + bo, at_b + j * step_b);
    at_a += 8 * step_a;
    at_b += 8 * step_b;
  }
  for (; i < count; ++i, at_a += step_a, at_b += step_b) partial_sums[0] += (Sum)GET_X(a_ + ao, at_a) * (Sum)GET_X(b_ + bo, at_b);
  const Sum sum = ((partial_sums[0] + partial_sums[1]) + (partial_sums[2] + partial_sums[3])) + ((partial_sums[4] + partial_sums[5]) + (partial_sums[6] + partial_sums[7]));
  AT(Sum, partial_sums_, so)[((long)get_global_id(2) * p.m * p.n + result) * p.slices + slice] = sum;
}
#endif
