// Products on GPUs: C[m, n] = alpha A[m, k] B[k, n] (+ beta bias). A group computes a TM x TN tile of C and keeps tiles of TK
// steps of both operands in local memory, two of each, so that the next ones are fetched while one is multiplied; a work item
// keeps RM x RN elements of C in registers. Processors have ops/product.cl.
//
// The host defines the sizes above; ALONG_K_A and ALONG_K_B: neighbours along k are neighbours in memory (otherwise those
// along m, along n are); WINDOWS: B is the windows of an image, as a matrix that is never made; HALF: products in half.

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define V JOIN(TX, 4)
#ifdef HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define TL half
#define TO_LOCAL(v) convert_half4(v)
#define FROM_LOCAL(v) convert_float4(v)
#else
#define TL TX
#define TO_LOCAL(v) (v)
#define FROM_LOCAL(v) (v)
#endif
#define VL JOIN(TL, 4)

// The same struct stands in tiles.h.
typedef struct { int m, n, k, row_a, col_a, row_b, col_b, row_bias, col_bias; float alpha, beta; } Product;

#ifdef REAL_X
#define FINISH(sum, bias, row, column) ((TX)p.alpha * (sum) + (bias_ == 0 ? (TX)0 : (TX)p.beta * \
  GET_X(bias_ + biaso, (bias) + (long)(row) * p.row_bias + (long)(column) * p.col_bias)))
#else
#define FINISH(sum, bias, row, column) (sum)
#endif

#ifdef KERNEL_multiply
#define GX (TN / RN)
#define GY (TM / RM)
#define ITEMS (GX * GY)
#define FETCH_A (TM * TK / 4 / ITEMS)  // vectors that an item fetches of a tile
#define FETCH_B (TN * TK / 4 / ITEMS)

// Four neighbours in a matrix, of which `left` are inside.
inline V fetch(__global const uchar* p, long at, int left) {
  if (left >= 4) return GET4_X(p, at);
  V v = 0;
  if (left > 0) v.x = GET_X(p, at);
  if (left > 1) v.y = GET_X(p, at + 1);
  if (left > 2) v.z = GET_X(p, at + 2);
  return v;
}

#ifdef WINDOWS
typedef struct { long plane; int i0, i1, i2; } Position;

// Where the window of a column (positions of all images in a row) starts; plane < 0: outside.
inline Position position_of(long column, long columns, Geometry g, int group) {
  Position at = {-1, 0, 0, 0};
  if (column >= columns) return at;
  const int positions = g.out[0] * g.out[1] * g.out[2], image = column / positions, o = column % positions;
  at.plane = ((long)image * g.channels + (long)group * g.group_in) * g.in[0] * g.in[1] * g.in[2];
  at.i0 = o / (g.out[1] * g.out[2]) * g.stride[0] - g.pad[0];
  at.i1 = o / g.out[2] % g.out[1] * g.stride[1] - g.pad[1];
  at.i2 = o % g.out[2] * g.stride[2] - g.pad[2];
  return at;
}

inline TX tap_of(__global const uchar* x, Position at, Geometry g, long channel, int d0, int d1, int d2) {
  const int i0 = at.i0 + d0, i1 = at.i1 + d1, i2 = at.i2 + d2;
  if (at.plane < 0 || (uint)i0 >= (uint)g.in[0] || (uint)i1 >= (uint)g.in[1] || (uint)i2 >= (uint)g.in[2]) return 0;
  return GET_X(x, at.plane + ((channel * g.in[0] + i0) * g.in[1] + i1) * g.in[2] + i2);
}
#endif

__kernel __attribute__((reqd_work_group_size(GX, GY, 1)))
void multiply(__global uchar* a_, ulong ao, __global uchar* b_, ulong bo, __global uchar* bias_, ulong biaso, __global uchar* y_, ulong yo,
              Product p, Strided stack
#ifdef WINDOWS
              , Geometry g
#endif
              EPILOGUE_PARAMETERS) {
  __local TL tile_a[2][TK][TM + 4] __attribute__((aligned(32)));
  __local TL tile_b[2][TK][TN + 4] __attribute__((aligned(32)));
  long at_a = 0, at_b = 0, at_bias = 0, rest = get_group_id(2);
  for (int d = stack.rank - 1; d >= 0; --d) {
    const long at = rest % stack.dims[d];
    rest /= stack.dims[d];
    at_a += at * stack.a[d];
    at_b += at * stack.b[d];
    at_bias += at * stack.c[d];
  }
  const int lx = get_local_id(0), ly = get_local_id(1), lane = ly * GX + lx;
  const int first_row = get_group_id(1) * TM, first_column = get_group_id(0) * TN;
  V next_a[FETCH_A], next_b[FETCH_B];
#ifdef WINDOWS
  Position windows[FETCH_B][4];
  for (int f = 0; f < FETCH_B; ++f) {
    for (int j = 0; j < 4; ++j) windows[f][j] = position_of(first_column + (lane + f * ITEMS) % (TN / 4) * 4 + j, p.n, g, get_group_id(2));
  }
#endif

#define FETCH(first_k) { \
  const int from = (first_k); \
  for (int f = 0; f < FETCH_A; ++f) { \
    const int v = lane + f * ITEMS; \
    A_AT(v) \
    next_a[f] = fetch(a_ + ao, at_a + (long)row * p.row_a + (long)kk * p.col_a, left); \
  } \
  for (int f = 0; f < FETCH_B; ++f) { \
    const int v = lane + f * ITEMS; \
    B_AT(v) \
  } }
#ifdef ALONG_K_A
#define A_AT(v) const int row = first_row + v / (TK / 4), kk = from + v % (TK / 4) * 4, left = row < p.m ? p.k - kk : 0;
#else
#define A_AT(v) const int row = first_row + v % (TM / 4) * 4, kk = from + v / (TM / 4), left = kk < p.k ? p.m - row : 0;
#endif
#if defined(WINDOWS)
#define B_AT(v) \
    const int kk = from + v / (TN / 4); \
    next_b[f] = 0; \
    if (kk < p.k) { \
      const int w12 = g.window[1] * g.window[2], taps = g.window[0] * w12, channel = kk / taps, tap = kk % taps; \
      const int d0 = tap / w12 * g.dilation[0], d1 = tap / g.window[2] % g.window[1] * g.dilation[1], d2 = tap % g.window[2] * g.dilation[2]; \
      next_b[f].x = tap_of(b_ + bo, windows[f][0], g, channel, d0, d1, d2); \
      next_b[f].y = tap_of(b_ + bo, windows[f][1], g, channel, d0, d1, d2); \
      next_b[f].z = tap_of(b_ + bo, windows[f][2], g, channel, d0, d1, d2); \
      next_b[f].w = tap_of(b_ + bo, windows[f][3], g, channel, d0, d1, d2); \
    }
#elif defined(ALONG_K_B)
#define B_AT(v) const int column = first_column + v / (TK / 4), kk = from + v % (TK / 4) * 4; \
    next_b[f] = fetch(b_ + bo, at_b + (long)kk * p.row_b + (long)column * p.col_b, column < p.n ? p.k - kk : 0);
#else
#define B_AT(v) const int column = first_column + v % (TN / 4) * 4, kk = from + v / (TN / 4); \
    next_b[f] = fetch(b_ + bo, at_b + (long)kk * p.row_b + (long)column * p.col_b, kk < p.k ? p.n - column : 0);
#endif

// A vector along k becomes a column of the tile.
#define KEEP_ALONG_K(tile, v, value) { \
    const int line = v / (TK / 4), step = v % (TK / 4) * 4; \
    tile[step][line] = value.x; tile[step + 1][line] = value.y; tile[step + 2][line] = value.z; tile[step + 3][line] = value.w; }
#define KEEP_ACROSS(tile, v, value, width) *(__local VL*)&tile[v / (width / 4)][v % (width / 4) * 4] = value;
#define KEEP(to) \
  for (int f = 0; f < FETCH_A; ++f) { const int v = lane + f * ITEMS; const VL value = TO_LOCAL(next_a[f]); KEEP_A(tile_a[to], v, value) } \
  for (int f = 0; f < FETCH_B; ++f) { const int v = lane + f * ITEMS; const VL value = TO_LOCAL(next_b[f]); KEEP_B(tile_b[to], v, value) }
#ifdef ALONG_K_A
#define KEEP_A(tile, v, value) KEEP_ALONG_K(tile, v, value)
#else
#define KEEP_A(tile, v, value) KEEP_ACROSS(tile, v, value, TM)
#endif
#ifdef ALONG_K_B
#define KEEP_B(tile, v, value) KEEP_ALONG_K(tile, v, value)
#else
#define KEEP_B(tile, v, value) KEEP_ACROSS(tile, v, value, TN)
#endif

  V sum[RM][RN / 4];
  for (int r = 0; r < RM; ++r) {
    for (int c = 0; c < RN / 4; ++c) sum[r][c] = 0;
  }
  FETCH(0)
  KEEP(0)
  barrier(CLK_LOCAL_MEM_FENCE);
  int now = 0;
  for (int k0 = 0; k0 < p.k; k0 += TK) {
    FETCH(k0 + TK)
#ifdef HALF
    VL part[RM][RN / 4];
    for (int r = 0; r < RM; ++r) {
      for (int c = 0; c < RN / 4; ++c) part[r][c] = 0;
    }
#else
#define part sum
#endif
#pragma unroll
    for (int i = 0; i < TK; ++i) {
      VL right[RN / 4];
#pragma unroll
      for (int c = 0; c < RN / 4; ++c) right[c] = *(__local const VL*)&tile_b[now][i][(lx + c * GX) * 4];
#pragma unroll
      for (int r = 0; r < RM / 4; ++r) {
        const VL left = *(__local const VL*)&tile_a[now][i][(ly + r * GY) * 4];
#pragma unroll
        for (int c = 0; c < RN / 4; ++c) {
          part[r * 4][c] += left.x * right[c];
          part[r * 4 + 1][c] += left.y * right[c];
          part[r * 4 + 2][c] += left.z * right[c];
          part[r * 4 + 3][c] += left.w * right[c];
        }
      }
    }
#ifdef HALF
    for (int r = 0; r < RM; ++r) {
      for (int c = 0; c < RN / 4; ++c) sum[r][c] += FROM_LOCAL(part[r][c]);
    }
#endif
    KEEP(now ^ 1)
    barrier(CLK_LOCAL_MEM_FENCE);
    now ^= 1;
  }
#pragma unroll
  for (int c = 0; c < RN / 4; ++c) {
    const int column = first_column + (lx + c * GX) * 4;
#pragma unroll
    for (int r = 0; r < RM; ++r) {
      const int row = first_row + (ly + r / 4 * GY) * 4 + r % 4;
      const TX values[4] = {sum[r][c].x, sum[r][c].y, sum[r][c].z, sum[r][c].w};
      for (int j = 0; j < 4; ++j) {
        if (row >= p.m || column + j >= p.n) continue;
#ifdef WINDOWS
        const int positions = g.out[0] * g.out[1] * g.out[2];
        const long filter = (long)((column + j) / positions) * g.filters + get_group_id(2) * g.group_out + row;
        const long at = filter * positions + (column + j) % positions;
#else
        const long at = ((long)get_group_id(2) * p.m + row) * p.n + column + j;
#endif
        const TX value = FINISH(values[j], at_bias, row, column + j);
        PUT_X(y_ + yo, at, EPILOGUE(value, at));
      }
    }
  }
}
#endif

#ifdef KERNEL_few_rows
// Up to ROWS rows of A: reading B is all the work. A group computes LINES columns; LANES work items share each one's k.
__kernel __attribute__((reqd_work_group_size(LINES, LANES, 1)))
void few_rows(__global uchar* a_, ulong ao, __global uchar* b_, ulong bo, __global uchar* bias_, ulong biaso, __global uchar* y_, ulong yo,
              Product p, Strided stack EPILOGUE_PARAMETERS) {
  __local TX parts[LINES * LANES];
  long at_a = 0, at_b = 0, rest = get_group_id(2);
  for (int d = stack.rank - 1; d >= 0; --d) {
    const long at = rest % stack.dims[d];
    rest /= stack.dims[d];
    at_a += at * stack.a[d];
    at_b += at * stack.b[d];
  }
  // Neighbouring work items read neighbours in memory.
  const int lane_id = get_local_id(1) * LINES + get_local_id(0);
#ifdef ALONG_K_B
  const int line = lane_id / LANES, lane = lane_id % LANES;
#define PART(line, lane) parts[(line) * LANES + (lane)]
#else
  const int line = lane_id % LINES, lane = lane_id / LINES;
#define PART(line, lane) parts[(lane) * LINES + (line)]
#endif
  const int column = get_group_id(0) * LINES + line, first_row = get_group_id(1) * ROWS;
  TX sum[ROWS];
  for (int r = 0; r < ROWS; ++r) sum[r] = 0;
  if (column < p.n) {
    for (int kk = lane; kk < p.k; kk += LANES) {
      const TX right = GET_X(b_ + bo, at_b + (long)kk * p.row_b + (long)column * p.col_b);
      for (int r = 0; r < ROWS; ++r) {
        sum[r] += right * GET_X(a_ + ao, at_a + (long)min(first_row + r, p.m - 1) * p.row_a + (long)kk * p.col_a);
      }
    }
  }
  for (int r = 0; r < ROWS; ++r) {
    PART(line, lane) = sum[r];
    barrier(CLK_LOCAL_MEM_FENCE);
    const int row = first_row + r;
    if (lane == 0 && column < p.n && row < p.m) {
      TX total = 0;
      for (int i = 0; i < LANES; ++i) total += PART(line, i);
      const long at = ((long)get_group_id(2) * p.m + row) * p.n + column;
      const TX value = FINISH(total, 0, row, column);
      PUT_X(y_ + yo, at, EPILOGUE(value, at));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
#endif
