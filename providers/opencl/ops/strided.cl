// Copies a block between strided places: s.dims sizes, s.a the source's strides, s.b the target's, from and to first elements.
#ifdef KERNEL_copy
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
#endif

#ifdef KERNEL_copy_rows
#define INLINE static inline __attribute__((always_inline))
INLINE void copy_row(__global const uchar* x, __global uchar* y, long from, long to, long n, long step_x, long step_y) {
  for (long j = 0; j < n; ++j) PUT_X(y, to + j * step_y, GET_X(x, from + j * step_x));
}

// `across`: another dimension along which the source's elements are neighbours, STEP of which an item copies; -1 where there is none.
__kernel void copy_rows(__global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Strided s, long from, long to, int across, long rows, long together) {
  const int last = s.rank - 1;
  const long size = s.dims[last], step_x = s.a[last], step_y = s.b[last];
  EACH_ROW(size, rows, together) {
    long rest = row, at_x = from + begin * step_x, at_y = to + begin * step_y, rows_here = 1, step_row = 0;
    for (int d = last - 1; d >= 0; --d) {
      const long count = d == across ? (s.dims[d] + STEP - 1) / STEP : s.dims[d];
      long at = rest % count;
      rest /= count;
      if (d == across) {
        at *= STEP;
        rows_here = min((long)STEP, s.dims[d] - at);
        step_row = s.b[d];
      }
      at_x += at * s.a[d];
      at_y += at * s.b[d];
    }
    if (rows_here == STEP) {
      for (long j = 0; j < end - begin; ++j) {
        TX elements[STEP];
        for (int l = 0; l < STEP; ++l) elements[l] = GET_X(x_ + xo, at_x + j * step_x + l);
        for (int l = 0; l < STEP; ++l) PUT_X(y_ + yo, at_y + j * step_y + l * step_row, elements[l]);
      }
    } else if (rows_here > 1) {
      for (long l = 0; l < rows_here; ++l) copy_row(x_ + xo, y_ + yo, at_x + l, at_y + l * step_row, end - begin, step_x, step_y);
    } else if (step_x == 1 && step_y == 1) {
      copy_row(x_ + xo, y_ + yo, at_x, at_y, end - begin, 1, 1);
    } else {
      copy_row(x_ + xo, y_ + yo, at_x, at_y, end - begin, step_x, step_y);
    }
  }
}
#endif
