// One work item computes one line: n elements, `stride` apart. Line l starts at (l / stride) * n * stride + l % stride.
#define ROW_INDEX const ulong row_index = get_global_id(0); if (row_index >= total) return; \
  const long start = (long)row_index / stride * n * stride + (long)row_index % stride;
#define X(i) GET_X(x_ + xo, start + (i) * stride)

#ifdef KERNEL_arg
// The index of the largest (smallest) element, the first or last of equal ones; of the first or last NaN where there is one.
__kernel void arg(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, long n, long stride, int smallest, int last) {
  ROW_INDEX
  long at = last ? n - 1 : 0;
  TX best = X(at);
  for (long k = 1; k < n && best == best; ++k) {
    const long i = last ? n - 1 - k : k;
    const TX x = X(i);
    if (x != x || (smallest ? x < best : x > best)) {
      best = x;
      at = i;
    }
  }
  AT(long, y_, yo)[row_index] = at;
}
#endif

#ifdef KERNEL_hardmax
// 1 at the largest element, which a NaN is.
__kernel void hardmax(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, long n, long stride) {
  ROW_INDEX
  TX best = X(0);
  long at = 0;
  for (long i = 1; i < n && best == best; ++i) {
    const TX x = X(i);
    if (x != x || x > best) {
      best = x;
      at = i;
    }
  }
  for (long i = 0; i < n; ++i) PUT_X(y_ + yo, start + i * stride, i == at ? (TX)1 : (TX)0);
}
#endif

#ifdef KERNEL_cumulate
__kernel void cumulate(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, long n, long stride, int product,
                       int exclusive, int reverse) {
  ROW_INDEX
  TX value = product ? (TX)1 : (TX)0;
  for (long k = 0; k < n; ++k) {
    const long i = reverse ? n - 1 - k : k;
    const TX x = X(i), next = product ? value * x : value + x;
    PUT_X(y_ + yo, start + i * stride, exclusive ? value : next);
    value = next;
  }
}
#endif

#ifdef KERNEL_lp_normalize
// x / |x|, 0 for a line of zeros.
__kernel void lp_normalize(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, long n, long stride, int p) {
  ROW_INDEX
  TX norm = 0;
  for (long i = 0; i < n; ++i) norm += p == 1 ? fabs(X(i)) : X(i) * X(i);
  if (p == 2) norm = sqrt(norm);
  for (long i = 0; i < n; ++i) PUT_X(y_ + yo, start + i * stride, norm == 0 ? (TX)0 : X(i) / norm);
}
#endif
