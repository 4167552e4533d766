// What becomes of an exact sum of products of quantized values, in place of an epilogue: STORE_SUM keeps it, STORE_REAL scales it to
// floating point, STORE_QUANTIZED scales and rounds it to a quantized value of Y. Channels, which have scales and biases, are rows with
// CHANNEL_ROWS, else columns. Stands before kernels that need it.
#undef RESULT
#undef TR
#undef PUT_R
#define TR TY
#define PUT_R PUT_Y
#ifdef QUADS
// Products of A's quantized values as they are (those without a sign less 128), of which its zero point has a share: it times what B's,
// less theirs, sum to.
#define QUAD_PARAMETERS , __global uchar* a_zero_, ulong azo, __global uchar* weight_sums_, ulong wso
#ifdef UNSIGNED_A
#define ZERO_OF_A ((a_zero_ != 0 ? (int)AT(const uchar, a_zero_, azo)[0] : 0) - 128)
#else
#define ZERO_OF_A (a_zero_ != 0 ? (int)AT(const char, a_zero_, azo)[0] : 0)
#endif
#define OUTSIDE (int)(((uint)ZERO_OF_A & 0xffu) * 0x01010101u)
#define EXACT(sum, row, column) ((sum) - ZERO_OF_A * AT(const int, weight_sums_, wso)[CHANNEL(row, column)])
#else
#define QUAD_PARAMETERS
#define EXACT(sum, row, column) (sum)
#endif
#define EPILOGUE_PARAMETERS                                                                                                   \
  , __global uchar* a_scale_, ulong aso, __global uchar* b_scale_, ulong bso, __global uchar* y_scale_, ulong yso, __global uchar* y_zero_, \
      ulong yzo, __global uchar* addend_, ulong ado QUAD_PARAMETERS
#define EPILOGUE_ARGUMENTS , a_scale_, aso, b_scale_, bso, y_scale_, yso, y_zero_, yzo, addend_, ado

#ifdef CHANNEL_ROWS
#define CHANNEL(row, column) (at_bias + (row))
#else
#define CHANNEL(row, column) (column)
#endif
// From the scale of one channel to the next: 0 where there is one for all.
#define SCALE_STEP p.row_bias

#if defined(STORE_SUM)
#define RESULT(sum, at, row, column) EXACT(sum, row, column)
#elif defined(STORE_REAL)
#define RESULT(sum, at, row, column)                                                                                          \
  ((float)EXACT(sum, row, column) * (AT(const float, a_scale_, aso)[0] * AT(const float, b_scale_, bso)[CHANNEL(row, column) * SCALE_STEP]) +   \
   (addend_ != 0 ? AT(const float, addend_, ado)[CHANNEL(row, column)] : 0.0f))
#else
#define RESULT(sum, at, row, column)                                                                                          \
  (TY)quantized_of((float)(EXACT(sum, row, column) + (addend_ != 0 ? AT(const int, addend_, ado)[CHANNEL(row, column)] : 0)) *                     \
                  (GET_S(a_scale_ + aso, 0) * GET_S(b_scale_ + bso, CHANNEL(row, column) * SCALE_STEP) / GET_S(y_scale_ + yso, 0)), \
              y_zero_ != 0 ? (float)GET_Y(y_zero_ + yzo, 0) : 0.0f, LOWEST, HIGHEST)
#endif
