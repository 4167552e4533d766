// Softmax and standardization: a group of LANES work items a row. Others: a work item an element.

#ifdef LANES
GROUP_FOLD(TX)
#endif

#ifdef KERNEL_softmax
// Rows of n elements that lie `stride` apart; row r starts at (r / stride) * n * stride + r % stride.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void softmax(__global uchar* x_, ulong xo, __global uchar* y_, ulong yo, long n, long stride, int logarithm) {
  __local TX lanes[LANES];
  const long row = get_group_id(0), start = row / stride * n * stride + row % stride;
  TX top = -INFINITY;
  for (long i = get_local_id(0); i < n; i += LANES) top = fmax(top, GET_X(x_ + xo, start + i * stride));
  top = group_fold(lanes, top, 1);
  TX sum = 0;
  for (long i = get_local_id(0); i < n; i += LANES) sum += exp(GET_X(x_ + xo, start + i * stride) - top);
  sum = group_fold(lanes, sum, 0);
  const TX shift = logarithm ? log(sum) : 1 / sum;
  for (long i = get_local_id(0); i < n; i += LANES) {
    const TX shifted = GET_X(x_ + xo, start + i * stride) - top;
    PUT_X(y_ + yo, start + i * stride, logarithm ? shifted - shift : exp(shifted) * shift);
  }
}
#endif

#ifdef KERNEL_standardize
// Rows of n elements become (x - mean) / deviation * scale + bias, without mean where center is 0. Element i of row r has
// parameter (r % period) * step + i / inner.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void standardize(__global uchar* x_, ulong xo, __global uchar* scale_, ulong so, __global uchar* bias_, ulong bo, __global uchar* y_,
                 ulong yo, __global uchar* mean_, ulong mo, __global uchar* inverse_, ulong io, long n, long period, long step,
                 long inner, float epsilon, int center) {
  __local TX lanes[LANES];
  const long row = get_group_id(0), start = row * n;
  TX mean = 0;
  if (center) {
    for (long i = get_local_id(0); i < n; i += LANES) mean += GET_X(x_ + xo, start + i);
    mean = group_fold(lanes, mean, 0) / n;
  }
  TX squares = 0;
  for (long i = get_local_id(0); i < n; i += LANES) {
    const TX x = GET_X(x_ + xo, start + i) - mean;
    squares += x * x;
  }
  const TX inverse = 1 / sqrt(group_fold(lanes, squares, 0) / n + epsilon);
  for (long i = get_local_id(0); i < n; i += LANES) {
    const long p = row % period * step + i / inner;
    TX value = (GET_X(x_ + xo, start + i) - mean) * inverse * GET_S(scale_ + so, p);
    if (bias_ != 0) value += GET_S(bias_ + bo, p);
    PUT_Y(y_ + yo, start + i, value);
  }
  if (get_local_id(0) == 0) {
    if (mean_ != 0) PUT_M(mean_ + mo, row, mean);
    if (inverse_ != 0) PUT_M(inverse_ + io, row, inverse);
  }
}
#endif

#ifdef KERNEL_batch_norm
__kernel void batch_norm(ulong total, __global uchar* x_, ulong xo, __global uchar* scale_, ulong so, __global uchar* bias_, ulong bo,
                         __global uchar* mean_, ulong mo, __global uchar* variance_, ulong vo, __global uchar* y_, ulong yo,
                         long plane, long channels, float epsilon) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long c = (long)i / plane % channels;
  const TX scale = GET_S(scale_ + so, c) / sqrt(GET_M(variance_ + vo, c) + epsilon);
  PUT_X(y_ + yo, i, (GET_X(x_ + xo, i) - GET_M(mean_ + mo, c)) * scale + GET_S(bias_ + bo, c));
}
#endif

#ifdef KERNEL_lrn
// Divides by a power of the squares summed over neighbouring channels.
__kernel void lrn(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, long plane, long channels, long before,
                  long after, float alpha, float beta, float bias) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long c = (long)i / plane % channels;
  TX squares = 0;
  for (long k = max(c - before, 0L); k <= min(c + after, channels - 1); ++k) {
    const TX x = GET_X(x_ + xo, (long)i + (k - c) * plane);
    squares += x * x;
  }
  PUT_X(y_ + yo, i, GET_X(x_ + xo, i) / pow(bias + alpha * squares, (TX)beta));
}
#endif
