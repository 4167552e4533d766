// EyeLike.

#ifdef KERNEL_diagonal
__kernel void diagonal(ulong total, __global uchar* y_, ulong yo, long columns, long k) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  PUT_X(y_ + yo, i, (long)i % columns - (long)i / columns == k ? 1 : 0);
}
#endif
