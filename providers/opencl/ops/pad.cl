// y[i] = x[i - before], by MODE where that lies outside: 0 value, 1 edge, 2 reflect, 3 wrap. s.dims: sizes of y, s.a: strides of
// x, s.b: sizes of x, s.c: elements before.
__kernel void pad(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Strided s, int mode, ulong bits) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  long rest = (long)i, from = 0;
  int outside = 0;
  for (int d = s.rank - 1; d >= 0; --d) {
    long at = rest % s.dims[d] - s.c[d];
    rest /= s.dims[d];
    const long size = s.b[d];
    if (at < 0 || at >= size) {
      if (mode == 0) {
        outside = 1;
        at = 0;
      } else if (mode == 1) {
        at = at < 0 ? 0 : size - 1;
      } else if (mode == 2) {
        const long period = max(2 * (size - 1), 1L);
        at %= period;
        if (at < 0) at += period;
        if (at >= size) at = period - at;
      } else {
        at %= size;
        if (at < 0) at += size;
      }
    }
    from += at * s.a[d];
  }
  PUT_X(y_ + yo, i, outside ? (TX)bits : GET_X(x_ + xo, from));
}
