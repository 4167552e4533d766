// The mean of quantized values over all pixels of a channel, of another scale and zero point. Pixels lie `step` elements apart; what is
// after `inner` channels lies `outer` elements on.
#ifdef KERNEL_qlinear_global_average_pool
__kernel void qlinear_global_average_pool(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, __global uchar* x_scale_, ulong xso,
                                          __global uchar* x_zero_, ulong xzo, __global uchar* y_scale_, ulong yso, __global uchar* y_zero_, ulong yzo,
                                          long inner, long outer, long between, long step, long pixels) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long first = (long)i / inner * outer + (long)i % inner * between;
  long whole = 0;
  for (long begin = 0; begin < pixels; begin += 65536) {  // 32 bits hold the sum of so many
    const long end = min(begin + 65536, pixels);
    int sum = 0;
    for (long p = begin; p < end; ++p) sum += (int)GET_Y(x_ + xo, first + p * step);
    whole += sum;
  }
  // Integers are exact as floats below 2^24 only: the mean is split into what is whole and the rest of it.
  const long quotient = pixels > 0 ? whole / pixels : 0;
  const float rest = pixels > 0 ? (float)(whole - quotient * pixels) / (float)pixels : 0.0f;
  const float zero = x_zero_ != 0 ? (float)GET_Y(x_zero_ + xzo, 0) : 0.0f;
  const float mean = ((float)quotient - zero) + rest;
  const float result = mean * AT(const float, x_scale_, xso)[0] / AT(const float, y_scale_, yso)[0];
  // Nothing has no mean: the CPU provider makes the lowest value of it, too.
  PUT_Y(y_ + yo, i, pixels > 0 ? quantized_of(result, y_zero_ != 0 ? (float)GET_Y(y_zero_ + yzo, 0) : 0.0f, LOWEST, HIGHEST) : (TY)LOWEST);
}
#endif
