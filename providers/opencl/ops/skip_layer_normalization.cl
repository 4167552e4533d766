// LayerNormalization or RMSNormalization of the sum of the input, a residual and a bias: a group of LANES work items a row.
#ifdef LANES
GROUP_FOLD(TX)
#endif

#define TOTAL(i) (GET_X(x_ + xo, start + (i)) + GET_X(skip_ + so, residual + (i)) + (bias_ != 0 ? GET_X(bias_ + bo, i) : (TX)0))

#ifdef KERNEL_add_skip
// Of long rows, before they are normalized: the totals as they are computed, and as a result where somebody wants it.
__kernel void add_skip(ulong total, __global uchar* x_, ulong xo, __global uchar* skip_, ulong so, __global uchar* bias_, ulong bo,
                       __global uchar* totals_, ulong to, __global uchar* sum_, ulong suo, long n, long skip_rows) {
  const ulong at = get_global_id(0);
  if (at >= total) return;
  const long i = (long)at % n, start = (long)at - i, residual = (long)at / n % skip_rows * n;
  const TX value = TOTAL(i);
  AT(TX, totals_, to)[at] = value;
  if (sum_ != 0) PUT_X(sum_ + suo, at, value);
}
#endif

#ifdef KERNEL_skip_normalize
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void skip_normalize(__global uchar* x_, ulong xo, __global uchar* skip_, ulong so, __global uchar* gamma_, ulong go, __global uchar* beta_,
                    ulong beo, __global uchar* bias_, ulong bo, __global uchar* y_, ulong yo, __global uchar* mean_, ulong mo,
                    __global uchar* inverse_, ulong io, __global uchar* sum_, ulong suo, long n, long skip_rows, float epsilon, int center) {
  __local TX lanes[LANES];
  const long row = get_group_id(0), start = row * n, residual = row % skip_rows * n;
  TX mean = 0, squares = 0;
  if (center) {
    for (long i = get_local_id(0); i < n; i += LANES) mean += TOTAL(i);
    mean = group_fold(lanes, mean, 0) / n;
  }
  for (long i = get_local_id(0); i < n; i += LANES) {
    const TX off = TOTAL(i) - mean;
    squares += off * off;
  }
  const TX inverse = 1 / sqrt(group_fold(lanes, squares, 0) / n + epsilon);
  for (long i = get_local_id(0); i < n; i += LANES) {
    const TX total = TOTAL(i);
    TX value = (total - mean) * inverse * GET_X(gamma_ + go, i);
    if (beta_ != 0) value += GET_X(beta_ + beo, i);
    PUT_X(y_ + yo, start + i, value);
    if (sum_ != 0) PUT_X(sum_ + suo, start + i, total);
  }
  if (get_local_id(0) == 0) {
    if (mean_ != 0) AT(float, mean_, mo)[row] = (float)mean;
    if (inverse_ != 0) AT(float, inverse_, io)[row] = (float)inverse;
  }
}
#endif
