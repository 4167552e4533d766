// Blocks of GEMMs in vector registers, for processors: ROWS rows of A times a panel of COLUMNS columns of B, in vectors of LANES.
// Stands before kernels that need it.
//
// BYTES: of an element of A. PACKED_A: A stands in blocks of ROWS rows, column after column; ALONG_K_A: its neighbours along k are
// neighbours in memory.
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define V JOIN(TX, LANES)
#define VECTORS (COLUMNS / LANES)
#define LOAD JOIN(vload, LANES)
#define STORE JOIN(vstore, LANES)
#define INLINE static inline __attribute__((always_inline))

// PAIRS: an element is two neighbours along k, integers of 16 bits in an int, whose products are added exactly.
#ifdef PAIRS
#if defined(__AVX512BW__) && LANES == 16
typedef short Halves __attribute__((vector_size(64)));
INLINE V dot_pairs(V a, V b) { return __builtin_astype(__builtin_ia32_pmaddwd512(__builtin_astype(a, Halves), __builtin_astype(b, Halves)), V); }
#elif defined(__AVX2__) && LANES == 16
typedef short Halves __attribute__((vector_size(32)));
INLINE int8 dot_pairs_of_half(int8 a, int8 b) {
  return __builtin_astype(__builtin_ia32_pmaddwd256(__builtin_astype(a, Halves), __builtin_astype(b, Halves)), int8);
}
INLINE V dot_pairs(V a, V b) { return (V)(dot_pairs_of_half(a.lo, b.lo), dot_pairs_of_half(a.hi, b.hi)); }
#else
INLINE V dot_pairs(V a, V b) { return (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16); }
#endif
#define MULTIPLY_ADDS(sum, left, right) sum += dot_pairs(left, right);
#else
#define MULTIPLY_ADDS(sum, left, right) sum += left * right;
#endif

// Where the rows of a block of A are, from a column on.
#ifdef PACKED_A
typedef struct { __global const TX* at; } Rows;
#define LEFT(a, r, i) ((a).at[(long)(i) * ROWS + (r)])
#else
typedef struct { __global const uchar* at[ROWS]; long column; } Rows;
#ifdef ALONG_K_A
#define LEFT(a, r, i) GET_X((a).at[r], i)
#else
#define LEFT(a, r, i) GET_X((a).at[r], (long)(i) * (a).column)
#endif
#endif

// sum += A[ROWS, count] B[count, COLUMNS], rows of B `step` elements apart, in memory of any kind.
#define MULTIPLY_ADD(sum, a, b, step, count)                                           \
  for (int i = 0; i < (count); ++i) {                                                 \
    V right[VECTORS];                                                                 \
    _Pragma("unroll") for (int v = 0; v < VECTORS; ++v) right[v] = LOAD(v, (b) + (long)i * (step)); \
    _Pragma("unroll") for (int r = 0; r < ROWS; ++r) {                                \
      const V left = (V)LEFT(a, r, i);                                                \
      _Pragma("unroll") for (int v = 0; v < VECTORS; ++v) MULTIPLY_ADDS(sum[r][v], left, right[v]) \
    }                                                                                 \
  }

INLINE void clear_block(V sum[ROWS][VECTORS]) {
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) sum[r][v] = 0;
  }
}
// Row after row, `step` elements apart.
INLINE void load_block(V sum[ROWS][VECTORS], const TX* from, int step) {
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) sum[r][v] = LOAD(v, from + r * step);
  }
}
INLINE void store_block(V sum[ROWS][VECTORS], TX* to, int step) {
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) STORE(sum[r][v], v, to + r * step);
  }
}
