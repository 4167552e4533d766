// y[i] = x[i - before], by MODE where that lies outside: 0 value, 1 edge, 2 reflect, 3 wrap. s.dims: sizes of y, s.a: strides of
// x, s.b: sizes of x, s.c: elements before.

// Where position `at` of a dimension of `size` elements is read; -1: nowhere.
static inline long read_at(long at, long size, int mode) {
  if (at >= 0 && at < size) return at;
  if (mode == 0) return -1;
  if (mode == 1) return at < 0 ? 0 : size - 1;
  const long period = mode == 2 ? max(2 * (size - 1), 1L) : size;
  at %= period;
  if (at < 0) at += period;
  return mode == 2 && at >= size ? period - at : at;
}

#ifdef KERNEL_pad
__kernel void pad(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Strided s, int mode, ulong bits) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  long rest = (long)i, from = 0;
  int outside = 0;
  for (int d = s.rank - 1; d >= 0; --d) {
    const long at = read_at(rest % s.dims[d] - s.c[d], s.b[d], mode);
    rest /= s.dims[d];
    outside |= at < 0;
    from += at * s.a[d];
  }
  PUT_X(y_ + yo, i, outside ? (TX)bits : GET_X(x_ + xo, from));
}
#endif

#ifdef KERNEL_pad_rows
__kernel void pad_rows(__global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Strided s, int mode, ulong bits, long rows, long together) {
  const int last = s.rank - 1;
  const long width = s.dims[last], size = s.b[last], before = s.c[last];
  EACH_ROW(width, rows, together) {
    long rest = row, from = 0;
    int outside = 0;
    for (int d = last - 1; d >= 0; --d) {
      const long at = read_at(rest % s.dims[d] - s.c[d], s.b[d], mode);
      rest /= s.dims[d];
      outside |= at < 0;
      from += at * s.a[d];
    }
    __global const uchar* x = x_ + xo;
    __global uchar* y = y_ + yo;
    const long to = row * width;
    if (outside) {
      for (long j = begin; j < end; ++j) PUT_X(y, to + j, (TX)bits);
      continue;
    }
    const long low = clamp(before, begin, end), high = clamp(before + size, low, end);
    for (long j = begin; j < low; ++j) {
      const long at = read_at(j - before, size, mode);
      PUT_X(y, to + j, at < 0 ? (TX)bits : GET_X(x, from + at));
    }
    for (long j = low; j < high; ++j) PUT_X(y, to + j, GET_X(x, from + j - before));
    for (long j = high; j < end; ++j) {
      const long at = read_at(j - before, size, mode);
      PUT_X(y, to + j, at < 0 ? (TX)bits : GET_X(x, from + at));
    }
  }
}
#endif
