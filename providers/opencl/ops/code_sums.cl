// What becomes of an exact sum of products of codes, in place of an epilogue: STORE_SUM keeps it, STORE_REAL scales it to floating
// point, STORE_CODE scales and rounds it to a code of Y. Channels, which have scales and biases, are rows with CHANNEL_ROWS, else columns.
// Stands before kernels that need it.
#undef RESULT
#undef TR
#undef PUT_R
#define TR TY
#define PUT_R PUT_Y
#define EPILOGUE_PARAMETERS                                                                                                   \
  , __global uchar* a_scale_, ulong aso, __global uchar* b_scale_, ulong bso, __global uchar* y_scale_, ulong yso, __global uchar* y_zero_, \
      ulong yzo, __global uchar* addend_, ulong ado
#define EPILOGUE_ARGUMENTS , a_scale_, aso, b_scale_, bso, y_scale_, yso, y_zero_, yzo, addend_, ado

#ifdef CHANNEL_ROWS
#define CHANNEL(row, column) (at_bias + (row))
#else
#define CHANNEL(row, column) (column)
#endif
// From the scale of one channel to the next: 0 where there is one for all.
#define SCALE_STEP p.row_bias

#if defined(STORE_SUM)
#define RESULT(sum, at, row, column) (sum)
#elif defined(STORE_REAL)
#define RESULT(sum, at, row, column)                                                                                          \
  ((float)(sum) * (AT(const float, a_scale_, aso)[0] * AT(const float, b_scale_, bso)[CHANNEL(row, column) * SCALE_STEP]) +   \
   (addend_ != 0 ? AT(const float, addend_, ado)[CHANNEL(row, column)] : 0.0f))
#else
#define RESULT(sum, at, row, column)                                                                                          \
  (TY)code_of((float)((sum) + (addend_ != 0 ? AT(const int, addend_, ado)[CHANNEL(row, column)] : 0)) *                     \
                  (GET_S(a_scale_ + aso, 0) * GET_S(b_scale_ + bso, CHANNEL(row, column) * SCALE_STEP) / GET_S(y_scale_ + yso, 0)), \
              y_zero_ != 0 ? (float)GET_Y(y_zero_ + yzo, 0) : 0.0f, LOWEST, HIGHEST)
#endif
