// One work item computes one line: n elements, `stride` apart. Line l starts at (l / stride) * n * stride + l % stride. Of
// long lines (kernels named _slices) one computes a slice of `length` elements, and others join what they found.
#define ROW_INDEX const ulong row_index = get_global_id(0); if (row_index >= total) return; \
  const long start = (long)row_index / stride * n * stride + (long)row_index % stride;
#define SLICE_INDEX const ulong part = get_global_id(0); if (part >= total) return; \
  const ulong row_index = part / slices; \
  const long from = (long)(part % slices) * length, to = min(n, from + length); \
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

#ifdef KERNEL_arg_slices
__kernel void arg_slices(ulong total, __global uchar* x_, ulong xo, __global uchar* best_, ulong besto, __global uchar* at_, ulong ato, long n, long stride,
                         long slices, long length, int smallest, int last) {
  SLICE_INDEX
  long at = last ? to - 1 : from;
  TX best = X(at);
  for (long k = from + 1; k < to && best == best; ++k) {
    const long i = last ? to - 1 - (k - from) : k;
    const TX x = X(i);
    if (x != x || (smallest ? x < best : x > best)) {
      best = x;
      at = i;
    }
  }
  AT(TX, best_, besto)[part] = best;
  AT(long, at_, ato)[part] = at;
}
#endif

#ifdef KERNEL_arg_join
// Of slices as `arg` of elements.
__kernel void arg_join(ulong total, __global uchar* best_, ulong besto, __global uchar* at_, ulong ato, __global uchar* y_, ulong yo, long slices, int smallest,
                       int last) {
  const ulong row_index = get_global_id(0);
  if (row_index >= total) return;
  const __global TX* values = AT(TX, best_, besto) + row_index * slices;
  const __global long* indices = AT(long, at_, ato) + row_index * slices;
  long slice = last ? slices - 1 : 0;
  TX best = values[slice];
  for (long k = 1; k < slices && best == best; ++k) {
    const long i = last ? slices - 1 - k : k;
    const TX x = values[i];
    if (x != x || (smallest ? x < best : x > best)) {
      best = x;
      slice = i;
    }
  }
  AT(long, y_, yo)[row_index] = indices[slice];
}
#endif

#ifdef KERNEL_hardmax_place
// An element is 1 where its line's largest is.
__kernel void hardmax_place(ulong total, __global uchar* at_, ulong ato, __global uchar* y_, ulong yo, long n, long stride) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long line = (long)i / (n * stride) * stride + (long)i % stride;
  PUT_X(y_ + yo, i, (long)i / stride % n == AT(long, at_, ato)[line] ? (TX)1 : (TX)0);
}
#endif

#ifdef KERNEL_total_slices
// The sum or product of a slice.
__kernel void total_slices(ulong total, __global uchar* x_, ulong xo, __global uchar* sums_, ulong sumso, long n, long stride, long slices, long length,
                           int product) {
  SLICE_INDEX
  TX value = product ? (TX)1 : (TX)0;
  for (long i = from; i < to; ++i) value = product ? value * X(i) : value + X(i);
  AT(TX, sums_, sumso)[part] = value;
}
#endif

#ifdef KERNEL_scan_totals
// In place: what a slice's first element adds to, of the slices before it.
__kernel void scan_totals(ulong total, __global uchar* sums_, ulong sumso, long slices, int product, int reverse) {
  const ulong row_index = get_global_id(0);
  if (row_index >= total) return;
  __global TX* sums = AT(TX, sums_, sumso) + row_index * slices;
  TX value = product ? (TX)1 : (TX)0;
  for (long k = 0; k < slices; ++k) {
    const long i = reverse ? slices - 1 - k : k;
    const TX x = sums[i];
    sums[i] = value;
    value = product ? value * x : value + x;
  }
}
#endif

#ifdef KERNEL_cumulate_slices
__kernel void cumulate_slices(ulong total, __global uchar* x_, ulong xo, __global uchar* sums_, ulong sumso, __global uchar* y_, ulong yo, long n, long stride,
                              long slices, long length, int product, int exclusive, int reverse) {
  SLICE_INDEX
  TX value = AT(TX, sums_, sumso)[part];
  for (long k = from; k < to; ++k) {
    const long i = reverse ? to - 1 - (k - from) : k;
    const TX x = X(i), next = product ? value * x : value + x;
    PUT_X(y_ + yo, start + i * stride, exclusive ? value : next);
    value = next;
  }
}
#endif

#ifdef KERNEL_norm_slices
__kernel void norm_slices(ulong total, __global uchar* x_, ulong xo, __global uchar* sums_, ulong sumso, long n, long stride, long slices, long length, int p) {
  SLICE_INDEX
  TX norm = 0;
  for (long i = from; i < to; ++i) norm += p == 1 ? fabs(X(i)) : X(i) * X(i);
  AT(TX, sums_, sumso)[part] = norm;
}
#endif

#ifdef KERNEL_join_norms
__kernel void join_norms(ulong total, __global uchar* sums_, ulong sumso, __global uchar* norms_, ulong normso, long slices, int p) {
  const ulong row_index = get_global_id(0);
  if (row_index >= total) return;
  const __global TX* sums = AT(TX, sums_, sumso) + row_index * slices;
  TX norm = 0;
  for (long i = 0; i < slices; ++i) norm += sums[i];
  AT(TX, norms_, normso)[row_index] = p == 2 ? sqrt(norm) : norm;
}
#endif

#ifdef KERNEL_divide_by_norm
__kernel void divide_by_norm(ulong total, __global uchar* x_, ulong xo, __global uchar* norms_, ulong normso, __global uchar* y_, ulong yo, long n, long stride) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const TX norm = AT(TX, norms_, normso)[(long)i / (n * stride) * stride + (long)i % stride];
  PUT_X(y_ + yo, i, norm == 0 ? (TX)0 : GET_X(x_ + xo, i) / norm);
}
#endif
