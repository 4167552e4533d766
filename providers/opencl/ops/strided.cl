// Copies a block between strided places: s.dims sizes, s.a the source's strides, s.b the target's, from and to first elements.
__kernel void copy(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Strided s, long from, long to) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  long rest = (long)i;
  for (int d = s.rank - 1; d > 0; --d) {
    const long at = rest % s.dims[d];
    rest /= s.dims[d];
    from += at * s.a[d];
    to += at * s.b[d];
  }
  from += rest * s.a[0];
  to += rest * s.b[0];
  PUT_X(y_ + yo, to, GET_X(x_ + xo, from));
}
