// Arithmetic of quantized tensors A and B with broadcasting, to quantized values of Y. Scales and zero points are of whole tensors; zero
// points may be missing.
#ifdef KERNEL_qlinear_binary
__kernel void qlinear_binary(ulong total, __global uchar* a_, ulong ao, __global uchar* b_, ulong bo, __global uchar* y_, ulong yo,
                             __global uchar* a_scale_, ulong aso, __global uchar* a_zero_, ulong azo, __global uchar* b_scale_, ulong bso,
                             __global uchar* b_zero_, ulong bzo, __global uchar* y_scale_, ulong yso, __global uchar* y_zero_, ulong yzo, Strided s) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  long rest = (long)i, ia = 0, ib = 0;
  for (int d = s.rank - 1; d >= 0; --d) {
    const long at = rest % s.dims[d];
    rest /= s.dims[d];
    ia += at * s.a[d];
    ib += at * s.b[d];
  }
  const float a_scale = AT(const float, a_scale_, aso)[0], b_scale = AT(const float, b_scale_, bso)[0];
  const float y_scale = AT(const float, y_scale_, yso)[0];
  const float a_zero = a_zero_ != 0 ? (float)GET_Y(a_zero_ + azo, 0) : 0.0f, b_zero = b_zero_ != 0 ? (float)GET_Y(b_zero_ + bzo, 0) : 0.0f;
  const float a = (float)GET_Y(a_ + ao, ia) - a_zero, b = (float)GET_Y(b_ + bo, ib) - b_zero;
#ifdef MULTIPLIES
  const float result = a * b * (a_scale * b_scale / y_scale);
#else
  const float result = fma(a, a_scale / y_scale, b * (b_scale / y_scale));
#endif
  PUT_Y(y_ + yo, i, quantized_of(result, y_zero_ != 0 ? (float)GET_Y(y_zero_ + yzo, 0) : 0.0f, LOWEST, HIGHEST));
}
#endif
