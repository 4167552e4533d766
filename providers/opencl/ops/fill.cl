#ifdef KERNEL_fill
// Tensors that are made from a formula.
__kernel void fill(ulong total, __global uchar* y_, ulong yo, ulong bits) {
  const ulong i = get_global_id(0);
  if (i < total) PUT_X(y_ + yo, i, (TX)bits);
}
#endif

#ifdef KERNEL_range
__kernel void range(ulong total, __global uchar* y_, ulong yo, STEP start, STEP delta) {
  const ulong i = get_global_id(0);
  if (i < total) PUT_X(y_ + yo, i, start + (STEP)i * delta);
}
#endif

#ifdef KERNEL_triangle
// The upper or lower triangle of rows x columns matrices; element [r, c] is kept by c - r against the diagonal.
__kernel void triangle(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, long rows, long columns, long diagonal,
                       int upper) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long column = (long)i % columns, row = (long)i / columns % rows;
  const int kept = upper ? column - row >= diagonal : column - row <= diagonal;
  const TX x = GET_X(x_ + xo, i);
  PUT_X(y_ + yo, i, kept ? x : (TX)0);
}
#endif

#ifdef KERNEL_one_hot
// y[outer, d, inner] = values[indices[outer, inner] is d]; negative indices count from the end where `wraps`.
__kernel void one_hot(ulong total, __global uchar* indices_, ulong io, __global uchar* values_, ulong vo, __global uchar* y_, ulong yo,
                      long depth, long inner, int wraps) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long column = (long)i % inner, d = (long)i / inner % depth, row = (long)i / inner / depth;
  const TI given = GET_I(indices_ + io, row * inner + column);
#ifdef REAL_I
  long index = fabs(given) < (TI)4611686018427387904.0f ? (long)given : LONG_MIN;
#else
  long index = given > 0 && (ulong)given > (ulong)LONG_MAX ? LONG_MIN : (long)given;
#endif
  if (index < 0 && wraps) index += depth;
  PUT_X(y_ + yo, i, GET_X(values_ + vo, index == d ? 1 : 0));
}
#endif

#ifdef KERNEL_diagonal
__kernel void diagonal(ulong total, __global uchar* y_, ulong yo, long columns, long k) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  PUT_X(y_ + yo, i, (long)i % columns - (long)i / columns == k ? 1 : 0);
}
#endif
