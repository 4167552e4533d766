// LRN divides by a power of the squares summed over neighbouring channels.

#ifdef KERNEL_lrn
__kernel void lrn(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, long plane, long channels, long before,
                  long after, float alpha, float beta, float bias) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long c = (long)i / plane % channels;
  TX squares = 0;
  for (long k = max(c - before, 0L); k <= min(c + after, channels - 1); ++k) {
    const TX x = GET_X(x_ + xo, (long)i + (k - c) * plane);
    squares += x * x;
  }
  PUT_X(y_ + yo, i, GET_X(x_ + xo, i) / pow(bias + alpha * squares, (TX)beta));
}
#endif

// Wide windows are sums of 2^bit channels, for the bits of their sizes, from their first channel on.
#ifdef KERNEL_lrn_squares
__kernel void lrn_squares(ulong total, __global uchar* x_, ulong xo, __global uchar* to_, ulong to) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const TX x = GET_X(x_ + xo, i);
  AT(TX, to_, to)[i] = x * x;
}
#endif

#ifdef KERNEL_lrn_double
// `from`: squares summed over 2^bit channels from each on; `to`: over twice as many.
__kernel void lrn_double(ulong total, __global uchar* from_, ulong fo, __global uchar* to_, ulong to, __global uchar* windows_, ulong wo, long plane,
                         long channels, long before, long after, int bit) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  __global const TX* from = AT(const TX, from_, fo) + i;
  const long c = (long)i / plane % channels, first = max(c - before, 0L), size = min(c + after, channels - 1) - first + 1, together = 1L << bit;
  const TX so_far = bit == 0 ? (TX)0 : AT(const TX, windows_, wo)[i];
  AT(TX, windows_, wo)[i] = size & together ? so_far + from[(first + (size & (together - 1)) - c) * plane] : so_far;
  AT(TX, to_, to)[i] = c + together < channels ? from[0] + from[together * plane] : from[0];
}
#endif

#ifdef KERNEL_lrn_divide
__kernel void lrn_divide(ulong total, __global uchar* x_, ulong xo, __global uchar* windows_, ulong wo, __global uchar* y_, ulong yo, float alpha,
                         float beta, float bias) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  PUT_X(y_ + yo, i, GET_X(x_ + xo, i) / pow(bias + alpha * AT(const TX, windows_, wo)[i], (TX)beta));
}
#endif
