// What matmuls by tiles share (tile_gemm.cl, matrix_units.cl): C[m, n] = alpha A[m, k] B[k, n] (+ beta bias). A group computes a
// TM x TN tile of C. SLICES parts of it, of ITEMS work items each, share the steps of k: a part fetches tiles of TK steps of both
// operands, in vectors of four, and multiplies them.
//
// The host defines these sizes; ALONG_K_A and ALONG_K_B: neighbours along k are neighbours in memory (otherwise those along m, along n
// are); ALIGNED_A and ALIGNED_B: every vector starts at a multiple of its size; WINDOWS: B is the windows of an image, as a matrix
// that is never made, of W0 x W1 x W2 taps where these are known; a FLAT image has no depth; BITS: B is weights of so many bits
// (matmul_nbits_weights.cl).

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define V JOIN(TX, 4)

// The same struct stands in tile_gemm.h.
typedef struct { int m, n, k, row_a, col_a, row_b, col_b, row_bias, col_bias; float alpha, beta; } GemmShape;

#ifdef REAL_X
#define FINISH(sum, bias, row, column) ((TX)p.alpha * (sum) + (bias_ == 0 ? (TX)0 : (TX)p.beta * \
  GET_X(bias_ + biaso, (bias) + (long)(row) * p.row_bias + (long)(column) * p.col_bias)))
#else
#define FINISH(sum, bias, row, column) (sum)
#endif

// Where a group's operands start in the stack.
#define START_IN_STACK \
  long at_a = 0, at_b = 0, at_bias = 0, rest = get_group_id(2); \
  for (int d = stack.rank - 1; d >= 0; --d) { \
    const long at = rest % stack.dims[d]; \
    rest /= stack.dims[d]; \
    at_a += at * stack.a[d]; \
    at_b += at * stack.b[d]; \
    at_bias += at * stack.c[d]; \
  }

// Sums of products, of a step or of a QUAD of them: bytes in an int.
#ifdef QUADS
#ifdef DOTS_OF_OPENCL_C
static inline int multiply_add(int sum, int left, int right) { return sum + dot_4x8packed_ss_int((uint)left, (uint)right); }
#else  // PTX ISA, "dp4a"
static inline int multiply_add(int sum, int left, int right) {
  int result;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(left), "r"(right), "r"(sum));
  return result;
}
#endif
#define MULTIPLY_ADD(sum, left, right) sum = multiply_add(sum, left, right);
#define MULTIPLY_ADDS(sum, left, right) \
  MULTIPLY_ADD((sum).x, left, (right).x) \
  MULTIPLY_ADD((sum).y, left, (right).y) \
  MULTIPLY_ADD((sum).z, left, (right).z) \
  MULTIPLY_ADD((sum).w, left, (right).w)
#else
#define MULTIPLY_ADD(sum, left, right) sum += (left) * (right);
#define MULTIPLY_ADDS MULTIPLY_ADD
#endif
// What windows read around an image.
#ifndef OUTSIDE
#define OUTSIDE 0
#endif

#ifdef KERNEL_multiply
#define VECTORS_A (TM * TK / 4 / ITEMS)  // that an item fetches of a tile
#define VECTORS_B (TN * TK / 4 / ITEMS)

// Four neighbours in a matrix, of which `left` are inside.
#define FETCH_FOUR(name, GET4) \
  static inline V name(__global const uchar* p, long at, int left) { \
    if (left >= 4) return GET4(p, at); \
    V v = 0; \
    if (left > 0) v.x = GET_X(p, at); \
    if (left > 1) v.y = GET_X(p, at + 1); \
    if (left > 2) v.z = GET_X(p, at + 2); \
    return v; \
  }
#ifdef ALIGNED_A
FETCH_FOUR(fetch_a, ALIGNED4_X)
#else
FETCH_FOUR(fetch_a, GET4_X)
#endif
#ifdef ALIGNED_B
FETCH_FOUR(fetch_b, ALIGNED4_X)
#else
FETCH_FOUR(fetch_b, GET4_X)
#endif

// Of vector v of a tile: its line (a row of A, a column of B) and its step of k; of a vector at both, how many elements are inside the
// matrix, from the remaining size that is known before the loop.
#ifdef ALONG_K_A
#define ROW_A(v) ((v) / (TK / 4))
#define STEP_A(v) ((v) % (TK / 4) * 4)
#define REMAINING_A(row_or_column, step) ((row_or_column) < p.m ? p.k - (step) : 0)
#define INSIDE_A(f, k0) (remaining_a[f] - (k0))
#else
#define ROW_A(v) ((v) % (TM / 4) * 4)
#define STEP_A(v) ((v) / (TM / 4))
#define REMAINING_A(row_or_column, step) (p.m - (row_or_column))
#define INSIDE_A(f, k0) ((k0) + STEP_A(item + f * ITEMS) < p.k ? remaining_a[f] : 0)
#endif
#ifdef ALONG_K_B
#define COLUMN_B(v) ((v) / (TK / 4))
#define STEP_B(v) ((v) % (TK / 4) * 4)
#define REMAINING_B(row_or_column, step) ((row_or_column) < p.n ? p.k - (step) : 0)
#define INSIDE_B(f, k0) (remaining_b[f] - (k0))
#else
#define COLUMN_B(v) ((v) % (TN / 4) * 4)
#define STEP_B(v) ((v) / (TN / 4))
#define REMAINING_B(row_or_column, step) (p.n - (row_or_column))
#define INSIDE_B(f, k0) ((k0) + STEP_B(item + f * ITEMS) < p.k ? remaining_b[f] : 0)
#endif

#define LOCATE_A \
  long from_a[VECTORS_A]; \
  int remaining_a[VECTORS_A]; \
  _Pragma("unroll") \
  for (int f = 0; f < VECTORS_A; ++f) { \
    const int row_or_column = first_row + ROW_A(item + f * ITEMS), step = STEP_A(item + f * ITEMS); \
    remaining_a[f] = REMAINING_A(row_or_column, step); \
    from_a[f] = at_a + (long)row_or_column * p.row_a + (long)step * p.col_a; \
  }
#define FETCH_A(k0) \
  _Pragma("unroll") \
  for (int f = 0; f < VECTORS_A; ++f) next_a[f] = fetch_a(a_ + ao, from_a[f] + (long)(k0) * p.col_a, INSIDE_A(f, k0));

#ifdef WINDOWS
#ifndef W0
#define W0 g.window[0]
#define W1 g.window[1]
#define W2 g.window[2]
#endif

// Where the window of a column (the positions of all images in a row) starts; one that is outside starts far above the image.
typedef struct { long start; int i0, i1, i2; } Position;

static inline Position position_of(int column, int columns, Geometry g, int group) {
  Position at = {0, 0, -(1 << 30), 0};
  if (column >= columns) return at;
  const int positions = g.out[0] * g.out[1] * g.out[2], image = column / positions, o = column % positions;
  at.i0 = o / (g.out[1] * g.out[2]) * g.stride[0] - g.pad[0];
  at.i1 = o / g.out[2] % g.out[1] * g.stride[1] - g.pad[1];
  at.i2 = o % g.out[2] * g.stride[2] - g.pad[2];
  const long plane = ((long)image * g.channels + (long)group * g.group_in) * g.in[0];
  at.start = ((plane + at.i0) * g.in[1] + at.i1) * g.in[2] + at.i2;
  return at;
}

// The element d0, d1, d2 after a window's start, which are `offset` elements.
static inline TX tap_of(__global const uchar* x, Position at, Geometry g, long offset, int d0, int d1, int d2, TX outside) {
  if ((uint)(at.i1 + d1) >= (uint)g.in[1] || (uint)(at.i2 + d2) >= (uint)g.in[2]) return outside;
#ifndef FLAT
  if ((uint)(at.i0 + d0) >= (uint)g.in[0]) return outside;
#endif
  return GET_X(x, at.start + offset);
}

static inline V taps_of(__global const uchar* x, const Position* windows, Geometry g, int k, TX outside) {
  const int channel = k / (W0 * W1 * W2), tap = k % (W0 * W1 * W2);
  const int d0 = tap / (W1 * W2) * g.dilation[0], d1 = tap / W2 % W1 * g.dilation[1], d2 = tap % W2 * g.dilation[2];
  const long offset = (((long)channel * g.in[0] + d0) * g.in[1] + d1) * g.in[2] + d2;
  return (V)(tap_of(x, windows[0], g, offset, d0, d1, d2, outside), tap_of(x, windows[1], g, offset, d0, d1, d2, outside),
             tap_of(x, windows[2], g, offset, d0, d1, d2, outside), tap_of(x, windows[3], g, offset, d0, d1, d2, outside));
}

#define LOCATE_B \
  const TX outside = OUTSIDE; \
  Position windows[VECTORS_B][4]; \
  _Pragma("unroll") \
  for (int f = 0; f < VECTORS_B; ++f) { \
    _Pragma("unroll") \
    for (int j = 0; j < 4; ++j) windows[f][j] = position_of(first_column + COLUMN_B(item + f * ITEMS) + j, p.n, g, get_group_id(2)); \
  }
#define FETCH_B(k0) \
  _Pragma("unroll") \
  for (int f = 0; f < VECTORS_B; ++f) { \
    const int step = (k0) + STEP_B(item + f * ITEMS); \
    next_b[f] = 0; \
    if (step < p.k) next_b[f] = taps_of(b_ + bo, windows[f], g, step, outside); \
  }
#elif defined(BITS)
#define LOCATE_B
#define FETCH_B(k0) \
  _Pragma("unroll") \
  for (int f = 0; f < VECTORS_B; ++f) { \
    const int v = item + f * ITEMS; \
    next_b[f] = four_weights(b_ + bo, first_column + COLUMN_B(v), (k0) + STEP_B(v), p.n, p.k EPILOGUE_ARGUMENTS); \
  }
#else
#define LOCATE_B \
  long from_b[VECTORS_B]; \
  int remaining_b[VECTORS_B]; \
  _Pragma("unroll") \
  for (int f = 0; f < VECTORS_B; ++f) { \
    const int row_or_column = first_column + COLUMN_B(item + f * ITEMS), step = STEP_B(item + f * ITEMS); \
    remaining_b[f] = REMAINING_B(row_or_column, step); \
    from_b[f] = at_b + (long)row_or_column * p.col_b + (long)step * p.row_b; \
  }
#define FETCH_B(k0) \
  _Pragma("unroll") \
  for (int f = 0; f < VECTORS_B; ++f) next_b[f] = fetch_b(b_ + bo, from_b[f] + (long)(k0) * p.row_b, INSIDE_B(f, k0));
#endif

#define FETCH(k0) FETCH_A(k0) FETCH_B(k0)

#ifdef WINDOWS
#define GEOMETRY_PARAMETER , Geometry g
// Filters of all groups and images lie one after the other.
#define OFFSET_C(row, column) \
  (((long)((column) / (g.out[0] * g.out[1] * g.out[2])) * g.filters + get_group_id(2) * g.group_out + (row)) * \
       (g.out[0] * g.out[1] * g.out[2]) + (column) % (g.out[0] * g.out[1] * g.out[2]))
#else
#define GEOMETRY_PARAMETER
#define OFFSET_C(row, column) (((long)get_group_id(2) * p.m + (row)) * p.n + (column))
#endif

// Slice 0 takes what the others have summed, COUNT vectors of type T; they are done. The loop's last barrier stands between the tiles'
// last use of `memory` and this one.
#if SLICES > 1
#define ADD_SLICES(T, COUNT, SUM) \
  { \
    __local T(*slice_acc)[COUNT][ITEMS] = (__local T(*)[COUNT][ITEMS])memory; \
    if (slice > 0) { \
      _Pragma("unroll") \
      for (int i = 0; i < COUNT; ++i) slice_acc[slice - 1][i][item] = SUM(i); \
    } \
    barrier(CLK_LOCAL_MEM_FENCE); \
    if (slice > 0) return; \
    for (int other = 0; other < SLICES - 1; ++other) { \
      _Pragma("unroll") \
      for (int i = 0; i < COUNT; ++i) SUM(i) += slice_acc[other][i][item]; \
    } \
  }
#else
#define ADD_SLICES(T, COUNT, SUM)
#endif

// An element of C into memory.
#define STORE(sum, row, column) { \
    if ((row) < p.m && (column) < p.n) { \
      const long at = OFFSET_C(row, column); \
      const TX value = FINISH(sum, at_bias, row, column); \
      PUT_R(y_ + yo, at, RESULT(value, at, row, column)); \
    } }

#define MULTIPLY_PARAMETERS \
  __global uchar* a_, ulong ao, __global uchar* b_, ulong bo, __global uchar* bias_, ulong biaso, __global uchar* y_, ulong yo, \
      GemmShape p, Strided stack GEOMETRY_PARAMETER EPILOGUE_PARAMETERS
#endif
