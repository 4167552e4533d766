// OneHot.

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
