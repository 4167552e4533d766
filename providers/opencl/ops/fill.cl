// Tensors of one number.

#ifdef KERNEL_fill
__kernel void fill(ulong total, __global uchar* y_, ulong yo, ulong bits) {
  const ulong i = get_global_id(0);
  if (i < total) PUT_X(y_ + yo, i, (TX)bits);
}
#endif
