// Range.

#ifdef KERNEL_range
__kernel void range(ulong total, __global uchar* y_, ulong yo, STEP start, STEP delta) {
  const ulong i = get_global_id(0);
  if (i < total) PUT_X(y_ + yo, i, start + (STEP)i * delta);
}
#endif
