// Indices were checked on the host.
static inline long wrapped(long index, long size) { return index < 0 ? index + size : index; }

#ifdef KERNEL_gather
// y[outer, i, inner] = x[outer, indices[i], inner]
__kernel void gather(ulong total, __global uchar* x_, ulong xo, __global uchar* indices_, ulong io, __global uchar* y_, ulong yo,
                     long axis, long count, long inner) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long column = (long)i % inner, which = (long)i / inner % count, row = (long)i / inner / count;
  const long index = wrapped(GET_I(indices_ + io, which), axis);
  PUT_X(y_ + yo, i, GET_X(x_ + xo, (row * axis + index) * inner + column));
}
#endif

#ifdef KERNEL_gather_elements
// y[i] = x[i with the index in place of its coordinate along the axis]. s.dims: sizes of the indices, s.a: strides of x.
__kernel void gather_elements(ulong total, __global uchar* x_, ulong xo, __global uchar* indices_, ulong io, __global uchar* y_,
                              ulong yo, Strided s, int axis, long size) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  long rest = (long)i, from = wrapped(GET_I(indices_ + io, i), size) * s.a[axis];
  for (int d = s.rank - 1; d >= 0; --d) {
    if (d != axis) from += rest % s.dims[d] * s.a[d];
    rest /= s.dims[d];
  }
  PUT_X(y_ + yo, i, GET_X(x_ + xo, from));
}
#endif
