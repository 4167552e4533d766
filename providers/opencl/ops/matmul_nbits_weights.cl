// Weights of BITS bits, PER_BYTE of them in a byte, the first in its lowest bits, in blocks of BLOCK along k, each with a scale and a zero
// point: a quantized value (PACKED_ZEROS), a number (REAL_ZEROS), else the middle of the range. Stands before kernels that need it.
#define VALUE_AT(byte, c) (((int)(byte) >> ((c) * BITS)) & ((1 << BITS) - 1))
#define EPILOGUE(value, index) (value)
#define EPILOGUE_PARAMETERS , __global uchar* scales_, ulong so, __global uchar* zeros_, ulong zo
#define EPILOGUE_ARGUMENTS , scales_, so, zeros_, zo

static inline __attribute__((always_inline)) float zero_point(__global const uchar* zeros, long column, int block, int blocks) {
#if defined(REAL_ZEROS)
  return GET_X(zeros, column * blocks + block);
#elif defined(PACKED_ZEROS)
  return VALUE_AT(zeros[column * ((blocks * BITS + 7) / 8) + block / PER_BYTE], block % PER_BYTE);
#else
  return 1 << (BITS - 1);
#endif
}

#ifdef COLUMNS
// On processors all stands in panels of COLUMNS columns, 16: a vector. Scales and zero points are floats there, block after block.
static inline __attribute__((always_inline)) float16 scales_of(__global const uchar* panels, long panel, int block, int k) {
  return vload16((panel * ((k - 1) / BLOCK + 1) + block), (__global const float*)panels);
}
#if defined(REAL_ZEROS) || defined(PACKED_ZEROS)
#define ZEROS_OF(panel, block, k) scales_of(zeros_ + zo, panel, block, k)
#else
#define ZEROS_OF(panel, block, k) (float16)(1 << (BITS - 1))
#endif
// A column's weights at step c of PER_BYTE, but for their scale.
#define CENTERED(bytes, c, zero) (convert_float16(((bytes) >> (uchar)((c) * BITS)) & (uchar)((1 << BITS) - 1)) - (zero))
#endif

// Four neighbours along k, from a multiple of four on. Past the end of k, whatever stands there.
static inline float4 four_weights(__global const uchar* quantized, int column, int step, int n, int k EPILOGUE_PARAMETERS) {
  if (column >= n || step >= k) return 0;
  const int blocks = (k - 1) / BLOCK + 1, block = step / BLOCK;
  const float scale = GET_X(scales_ + so, (long)column * blocks + block);
  const float zero = zero_point(zeros_ + zo, column, block, blocks);
  __global const uchar* from = quantized + ((long)column * blocks * BLOCK + step) / PER_BYTE;
  const float4 values = (float4)(VALUE_AT(from[0], 0), VALUE_AT(from[1 / PER_BYTE], 1 % PER_BYTE), VALUE_AT(from[2 / PER_BYTE], 2 % PER_BYTE), VALUE_AT(from[3 / PER_BYTE], 3 % PER_BYTE));
  return (values - zero) * scale;
}
