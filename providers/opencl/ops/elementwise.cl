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

#ifdef KERNEL_chain
// Several operators, as an epilogue of nothing.
__kernel void chain(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo EPILOGUE_PARAMETERS) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  PUT_A(y_ + yo, i, EPILOGUE(GET_A(x_ + xo, i), i));
}
#endif
