// A function of quantized values X, to quantized values of Y of the same type. Scales and zero points are of whole tensors; zero points may be
// missing.
#ifdef KERNEL_qlinear_unary
__kernel void qlinear_unary(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, __global uchar* x_scale_, ulong xso,
                            __global uchar* x_zero_, ulong xzo, __global uchar* y_scale_, ulong yso, __global uchar* y_zero_, ulong yzo, float alpha) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const float x_zero = x_zero_ != 0 ? (float)GET_Y(x_zero_ + xzo, 0) : 0.0f, y_zero = y_zero_ != 0 ? (float)GET_Y(y_zero_ + yzo, 0) : 0.0f;
  const float x = ((float)GET_Y(x_ + xo, i) - x_zero) * AT(const float, x_scale_, xso)[0];
#ifdef SIGMOID
  const float number = quotient(1.0f, 1.0f + exp(-x));
#else
  const float number = x >= 0 ? x : alpha * x;
#endif
  const float result = quotient(number, AT(const float, y_scale_, yso)[0]);
  // The lowest of what is not a number: so does the CPU provider.
  PUT_Y(y_ + yo, i, result == result ? quantized_of(result, y_zero, LOWEST, HIGHEST) : (float)LOWEST);
}
#endif
