// Matmuls on GPUs, after tile_operands.cl. A group keeps tiles of both operands in local memory, two of each, so that the next
// ones are fetched while one is multiplied; a work item keeps RM x RN elements of C in registers. Processors have panel_gemm.cl.
//
// HALF: operands are rounded to half, which local memory holds more of; their accumulators are float. SHORT: operands are integers of
// 16 bits, their accumulators int. QUADS: of bytes, four neighbours along k in an int.

#ifdef HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define TL half
#define TO_LOCAL(v) convert_half4(v)
#define FROM_LOCAL(v) convert_float4(v)
#elif defined(SHORT)
#define TL short
#define TO_LOCAL(v) convert_short4(v)
#define FROM_LOCAL(v) convert_int4(v)
#else
#define TL TX
#define TO_LOCAL(v) (v)
#define FROM_LOCAL(v) (v)
#endif
#define VL JOIN(TL, 4)

#ifdef KERNEL_multiply
#define GX (TN / RN)
#define GY (TM / RM)

#ifdef ALONG_K_A
#define KEEP_A KEEP_ALONG_K
#else
#define KEEP_A(tile, v, value) KEEP_ACROSS(tile, v, value, TM)
#endif
#ifdef ALONG_K_B
#define KEEP_B KEEP_ALONG_K
#else
#define KEEP_B(tile, v, value) KEEP_ACROSS(tile, v, value, TN)
#endif
// A vector along k becomes a column of the tile.
#define KEEP_ALONG_K(tile, v, value) { \
    const int row_or_column = v / (TK / 4), step = v % (TK / 4) * 4; \
    tile[step][row_or_column] = value.x; tile[step + 1][row_or_column] = value.y; tile[step + 2][row_or_column] = value.z; tile[step + 3][row_or_column] = value.w; }
#define KEEP_ACROSS(tile, v, value, width) *(__local VL*)&tile[v / (width / 4)][v % (width / 4) * 4] = value;
#define KEEP(to) \
  _Pragma("unroll") \
  for (int f = 0; f < VECTORS_A; ++f) { const int v = item + f * ITEMS; const VL value = TO_LOCAL(next_a[f]); KEEP_A(tile_a[to], v, value) } \
  _Pragma("unroll") \
  for (int f = 0; f < VECTORS_B; ++f) { const int v = item + f * ITEMS; const VL value = TO_LOCAL(next_b[f]); KEEP_B(tile_b[to], v, value) }

#define TILE_BYTES (SLICES * 2 * TK * (TM + TN + 8) * sizeof(TL))
#define SUM_BYTES ((SLICES - 1) * TM * TN * sizeof(TX))

__kernel __attribute__((reqd_work_group_size(GX, GY, SLICES)))
void multiply(MULTIPLY_PARAMETERS) {
  __local uchar memory[TILE_BYTES > SUM_BYTES ? TILE_BYTES : SUM_BYTES] __attribute__((aligned(32)));
  START_IN_STACK
  const int lx = get_local_id(0), ly = get_local_id(1), item = ly * GX + lx, slice = get_local_id(2);
  const int first_row = get_group_id(1) * TM, first_column = get_group_id(0) * TN;
  __local TL(*tile_a)[TK][TM + 4] = (__local TL(*)[TK][TM + 4])memory + slice * 2;
  __local TL(*tile_b)[TK][TN + 4] =
      (__local TL(*)[TK][TN + 4])(memory + SLICES * 2 * TK * (TM + 4) * sizeof(TL)) + slice * 2;
  V next_a[VECTORS_A], next_b[VECTORS_B];
  LOCATE_A
  LOCATE_B
  V sum[RM][RN / 4];
#pragma unroll
  for (int r = 0; r < RM; ++r) {
#pragma unroll
    for (int c = 0; c < RN / 4; ++c) sum[r][c] = 0;
  }
  FETCH(slice * TK)
  KEEP(0)
  barrier(CLK_LOCAL_MEM_FENCE);
  int now = 0;
  for (int k0 = 0; k0 < p.k; k0 += SLICES * TK) {
    FETCH(k0 + (SLICES + slice) * TK)
#pragma unroll
    for (int i = 0; i < TK; ++i) {
      V right[RN / 4];
#pragma unroll
      for (int c = 0; c < RN / 4; ++c) right[c] = FROM_LOCAL(*(__local const VL*)&tile_b[now][i][(lx + c * GX) * 4]);
#pragma unroll
      for (int r = 0; r < RM / 4; ++r) {
        const V left = FROM_LOCAL(*(__local const VL*)&tile_a[now][i][(ly + r * GY) * 4]);
#pragma unroll
        for (int c = 0; c < RN / 4; ++c) {
          MULTIPLY_ADDS(sum[r * 4][c], left.x, right[c])
          MULTIPLY_ADDS(sum[r * 4 + 1][c], left.y, right[c])
          MULTIPLY_ADDS(sum[r * 4 + 2][c], left.z, right[c])
          MULTIPLY_ADDS(sum[r * 4 + 3][c], left.w, right[c])
        }
      }
    }
    KEEP(now ^ 1)
    barrier(CLK_LOCAL_MEM_FENCE);
    now ^= 1;
  }
#define SUM(i) sum[(i) / (RN / 4)][(i) % (RN / 4)]
  ADD_SLICES(V, (RM * RN / 4), SUM)
#pragma unroll
  for (int c = 0; c < RN / 4; ++c) {
    const int column = first_column + (lx + c * GX) * 4;
#pragma unroll
    for (int r = 0; r < RM; ++r) {
      const int row = first_row + (ly + r / 4 * GY) * 4 + r % 4;
      STORE(sum[r][c].x, row, column)
      STORE(sum[r][c].y, row, column + 1)
      STORE(sum[r][c].z, row, column + 2)
      STORE(sum[r][c].w, row, column + 3)
    }
  }
}
#endif

#ifdef KERNEL_few_rows
// Up to ROWS rows of A: reading B is all the work. A group computes COLUMNS columns; LANES work items share each one's k.
__kernel __attribute__((reqd_work_group_size(COLUMNS, LANES, 1)))
void few_rows(__global uchar* a_, ulong ao, __global uchar* b_, ulong bo, __global uchar* bias_, ulong biaso, __global uchar* y_, ulong yo,
              GemmShape p, Strided stack EPILOGUE_PARAMETERS) {
  __local TX parts[COLUMNS * LANES];
  START_IN_STACK
  // Neighbouring work items read neighbours in memory.
  const int item = get_local_id(1) * COLUMNS + get_local_id(0);
#ifdef ALONG_K_B
  const int local_column = item / LANES, lane = item % LANES;
#define PART(lane) parts[local_column * LANES + (lane)]
#else
  const int local_column = item % COLUMNS, lane = item / COLUMNS;
#define PART(lane) parts[(lane) * COLUMNS + local_column]
#endif
  const int column = get_group_id(0) * COLUMNS + local_column;
  TX sum[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) sum[r] = 0;
  if (column < p.n) {
#pragma unroll 4
    for (int kk = lane; kk < p.k; kk += LANES) {
      const TX right = GET_X(b_ + bo, at_b + (long)kk * p.row_b + (long)column * p.col_b);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) MULTIPLY_ADD(sum[r], GET_X(a_ + ao, at_a + (long)min(r, p.m - 1) * p.row_a + (long)kk * p.col_a), right)
    }
  }
  for (int row = 0; row < min(ROWS, p.m); ++row) {
    PART(lane) = sum[row];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int width = LANES / 2; width > 0; width /= 2) {
      if (lane < width) PART(lane) += PART(lane + width);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0 && column < p.n) {
      const long at = ((long)get_group_id(2) * p.m + row) * p.n + column;
      const TX value = FINISH(PART(0), at_bias, row, column);
      PUT_R(y_ + yo, at, RESULT(value, at, row, column));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
#endif
