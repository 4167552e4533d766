// y = OP(a[, b[, c]]) with broadcasting. The host defines OP over a, b, c, alpha and beta, and the types (see Computed); functions.cl stands before.

#ifdef KERNEL_elementwise
__kernel void elementwise(ulong total, __global uchar* a_, ulong ao, __global uchar* b_, ulong bo, __global uchar* c_, ulong co,
                          __global uchar* y_, ulong yo, Strided s, float alpha, float beta) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  long ia, ib, ic;
  if (s.rank == 1) {
    ia = (long)i * s.a[0];
    ib = (long)i * s.b[0];
    ic = (long)i * s.c[0];
  } else {
    long rest = (long)i;
    ia = ib = ic = 0;
    for (int d = s.rank - 1; d >= 0; --d) {
      const long at = rest % s.dims[d];
      rest /= s.dims[d];
      ia += at * s.a[d];
      ib += at * s.b[d];
      ic += at * s.c[d];
    }
  }
  const TA a = GET_A(a_ + ao, ia);
  const TB b = GET_B(b_ + bo, ib);
  const TC c = GET_C(c_ + co, ic);
  PUT_Y(y_ + yo, i, OP);
}
#endif

#ifdef KERNEL_elementwise_rows
// Elements [0, n) of a row, in loops of constant length that become vectors.
static inline __attribute__((always_inline)) void compute_row(__global const uchar* a_, __global const uchar* b_, __global const uchar* c_, __global uchar* y_,
                                                              long ia, long ib, long ic, long i, long n, long sa, long sb, long sc, float alpha, float beta) {
  long j = 0;
  for (; j + STEP <= n; j += STEP) {
    TY results[STEP];
    for (int k = 0; k < STEP; ++k) {
      const TA a = GET_A(a_, ia + (j + k) * sa);
      const TB b = GET_B(b_, ib + (j + k) * sb);
      const TC c = GET_C(c_, ic + (j + k) * sc);
      results[k] = OP;
    }
    for (int k = 0; k < STEP; ++k) PUT_Y(y_, i + j + k, results[k]);
  }
  for (; j < n; ++j) {
    const TA a = GET_A(a_, ia + j * sa);
    const TB b = GET_B(b_, ib + j * sb);
    const TC c = GET_C(c_, ic + j * sc);
    PUT_Y(y_, i + j, OP);
  }
}

__kernel void elementwise_rows(__global uchar* a_, ulong ao, __global uchar* b_, ulong bo, __global uchar* c_, ulong co, __global uchar* y_, ulong yo,
                               Strided s, float alpha, float beta, long rows, long together) {
  const int last = s.rank - 1;
  const long size = s.dims[last], sa = s.a[last], sb = s.b[last], sc = s.c[last];
  EACH_ROW(size, rows, together) {
    long rest = row, ia = begin * sa, ib = begin * sb, ic = begin * sc;
    for (int d = last - 1; d >= 0; --d) {
      const long at = rest % s.dims[d];
      rest /= s.dims[d];
      ia += at * s.a[d];
      ib += at * s.b[d];
      ic += at * s.c[d];
    }
#define ROW(sa, sb, sc) compute_row(a_ + ao, b_ + bo, c_ + co, y_ + yo, ia, ib, ic, row * size + begin, end - begin, sa, sb, sc, alpha, beta)
    if (sa == 1 && sb == 1 && sc == 1) {
      ROW(1, 1, 1);
    } else if (sa == 1 && sb == 0 && sc == 1) {
      ROW(1, 0, 1);
    } else if (sa == 0 && sb == 1 && sc == 0) {
      ROW(0, 1, 0);
    } else if (sa == 1 && sb == 1 && sc == 0) {
      ROW(1, 1, 0);
    } else {
      ROW(sa, sb, sc);
    }
  }
}
#endif

#ifdef KERNEL_chain
// Several operators, as an epilogue of nothing.
__kernel void chain(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo EPILOGUE_PARAMETERS) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  PUT_A(y_ + yo, i, EPILOGUE(GET_A(x_ + xo, i), i));
}
#endif
