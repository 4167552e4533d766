// Hardmax, after lines.cl; of long lines after arg_max.cl.

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

#ifdef KERNEL_hardmax_place
// An element is 1 where its line's largest is.
__kernel void hardmax_place(ulong total, __global uchar* at_, ulong ato, __global uchar* y_, ulong yo, long n, long stride) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long line = (long)i / (n * stride) * stride + (long)i % stride;
  PUT_X(y_ + yo, i, (long)i / stride % n == AT(long, at_, ato)[line] ? (TX)1 : (TX)0);
}
#endif
