// LpNormalization, after lines.cl.

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
