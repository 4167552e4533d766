// CumSum and CumProd, after lines.cl.

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
