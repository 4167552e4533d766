// What becomes of matmuls whose k was summed in slices: their sums, plus the bias.

// The same struct stands in slice_sums.h.
typedef struct {
  long results, result_step, slice_step;
  int n, slices, row_bias, col_bias;
  float alpha, beta;
} SliceSums;

// Integers wrap.
#ifdef REAL_X
typedef TX Sum;
#else
typedef WX Sum;
#endif

#ifdef KERNEL_add_slices
__kernel void add_slices(ulong total, __global uchar* sums_, ulong so, __global uchar* bias_, ulong biaso, __global uchar* y_, ulong yo,
                         SliceSums p EPILOGUE_PARAMETERS) {
  const long result = get_global_id(0), row = result / p.n, column = result % p.n;
  if ((ulong)result >= total) return;
  const long at = (long)get_global_id(1) * p.results + result;
  __global const Sum* sums = AT(const Sum, sums_, so) + at * p.result_step;
  Sum sum = 0;
  for (int i = 0; i < p.slices; ++i) sum += sums[i * p.slice_step];
  TX value = (TX)sum;
#ifdef REAL_X
  value *= (TX)p.alpha;
  if (bias_ != 0) value += (TX)p.beta * GET_X(bias_ + biaso, row * p.row_bias + column * p.col_bias);
#endif
  PUT_R(y_ + yo, at, RESULT(value, at, row, column));
}
#endif
