// Values go to indices that the host has checked; a negative one is nowhere.
__kernel void max_unpool(ulong total, __global uchar* x_, ulong xo, __global uchar* targets_, ulong po, __global uchar* y_, ulong yo) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long target = AT(const long, targets_, po)[i];
  if (target >= 0) PUT_X(y_ + yo, target, GET_X(x_ + xo, i));
}
