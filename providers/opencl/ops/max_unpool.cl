// Values go to places that the host has checked; a negative one is nowhere.
__kernel void max_unpool(ulong total, __global uchar* x_, ulong xo, __global uchar* places_, ulong po, __global uchar* y_, ulong yo) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long place = AT(const long, places_, po)[i];
  if (place >= 0) PUT_X(y_ + yo, place, GET_X(x_ + xo, i));
}
