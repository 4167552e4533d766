// Trilu.

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
