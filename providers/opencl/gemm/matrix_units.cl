// GEMM by the matrix units of NVIDIA's GPUs (compute capability 8 and up), after tile_operands.cl: operands in half (or bfloat16,
// with BFLOAT16), accumulators in float. A warp of 32 work items keeps RM x RN elements of C.
// Instructions: PTX ISA, "mma.m16n8k16", "ldmatrix".

#ifdef KERNEL_multiply
#define PAD 8  // elements, so that the eight rows that ldmatrix reads lie in different banks
#ifdef ALONG_K_A
#define INDEX_A(v) [ROW_A(v)][STEP_A(v)]
typedef ushort TileA[TM][TK + PAD];
#else
#define INDEX_A(v) [STEP_A(v)][ROW_A(v)]
typedef ushort TileA[TK][TM + PAD];
#endif
#ifdef ALONG_K_B
#define INDEX_B(v) [COLUMN_B(v)][STEP_B(v)]
typedef ushort TileB[TN][TK + PAD];
#else
#define INDEX_B(v) [STEP_B(v)][COLUMN_B(v)]
typedef ushort TileB[TK][TN + PAD];
#endif

#ifdef BFLOAT16
#define HALVES "bf16"
#else
#define HALVES "f16"
#endif

static inline uint pair_of(float low, float high) {
  uint pair;
  asm("cvt.rn." HALVES "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
static inline uint2 halves_of(float4 v) { return (uint2)(pair_of(v.x, v.y), pair_of(v.z, v.w)); }

// Four 8 x 8 matrices of fp16, whose rows lie at the 32 work items' addresses, as the units want them.
#define LOAD_FOUR(to, from, trans) \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4" trans ".shared.b16 {%0, %1, %2, %3}, [%4];" \
               : "=r"(to.x), "=r"(to.y), "=r"(to.z), "=r"(to.w) : "r"((uint)(size_t)(from)))
// A 16 x 8 block of C += 16 x 16 of A, 16 x 8 of B.
#define MULTIPLY_ADD(c, a, b0, b1) \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." HALVES "." HALVES ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(c.x), "+f"(c.y), "+f"(c.z), "+f"(c.w) : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1))

#define KEEP(to) \
  _Pragma("unroll") \
  for (int f = 0; f < VECTORS_A; ++f) *(__local uint2*)&tile_a[to] INDEX_A(item + f * ITEMS) = halves_of(next_a[f]); \
  _Pragma("unroll") \
  for (int f = 0; f < VECTORS_B; ++f) *(__local uint2*)&tile_b[to] INDEX_B(item + f * ITEMS) = halves_of(next_b[f]);

#define TILE_BYTES (SLICES * 2 * (sizeof(TileA) + sizeof(TileB)))
#define SUM_BYTES ((SLICES - 1) * TM * TN * sizeof(float))

__kernel __attribute__((reqd_work_group_size(32, ITEMS / 32, SLICES)))
void multiply(MULTIPLY_PARAMETERS) {
  __local uchar memory[TILE_BYTES > SUM_BYTES ? TILE_BYTES : SUM_BYTES] __attribute__((aligned(32)));
  START_IN_STACK
  const int lane = get_local_id(0), warp = get_local_id(1), item = warp * 32 + lane, slice = get_local_id(2);
  const int first_row = get_group_id(1) * TM, first_column = get_group_id(0) * TN;
  const int warp_row = warp / (TN / RN) * RM, warp_column = warp % (TN / RN) * RN;
  __local TileA* tile_a = (__local TileA*)memory + slice * 2;
  __local TileB* tile_b = (__local TileB*)(memory + SLICES * 2 * sizeof(TileA)) + slice * 2;
  V next_a[VECTORS_A], next_b[VECTORS_B];
  LOCATE_A
  LOCATE_B
  float4 sum[RM / 16][RN / 8];
#pragma unroll
  for (int r = 0; r < RM / 16; ++r) {
#pragma unroll
    for (int c = 0; c < RN / 8; ++c) sum[r][c] = 0;
  }
  FETCH(slice * TK)
  KEEP(0)
  barrier(CLK_LOCAL_MEM_FENCE);
  int now = 0;
  for (int k0 = 0; k0 < p.k; k0 += SLICES * TK) {
    FETCH(k0 + (SLICES + slice) * TK)
#pragma unroll
    for (int i = 0; i < TK; i += 16) {
      uint4 left[RM / 16], right[RN / 16];
#pragma unroll
      for (int r = 0; r < RM / 16; ++r) {
#ifdef ALONG_K_A
        LOAD_FOUR(left[r], &tile_a[now][warp_row + r * 16 + lane % 16][i + lane / 16 * 8], "");
#else
        LOAD_FOUR(left[r], &tile_a[now][i + lane / 16 * 8 + lane % 8][warp_row + r * 16 + lane / 8 % 2 * 8], ".trans");
#endif
      }
      // x and y: eight columns, z and w: the next eight.
#pragma unroll
      for (int c = 0; c < RN / 16; ++c) {
#ifdef ALONG_K_B
        LOAD_FOUR(right[c], &tile_b[now][warp_column + c * 16 + lane / 16 * 8 + lane % 8][i + lane / 8 % 2 * 8], "");
#else
        LOAD_FOUR(right[c], &tile_b[now][i + lane % 16][warp_column + c * 16 + lane / 16 * 8], ".trans");
#endif
      }
#pragma unroll
      for (int r = 0; r < RM / 16; ++r) {
#pragma unroll
        for (int c = 0; c < RN / 16; ++c) {
          MULTIPLY_ADD(sum[r][c * 2], left[r], right[c].x, right[c].y);
          MULTIPLY_ADD(sum[r][c * 2 + 1], left[r], right[c].z, right[c].w);
        }
      }
    }
    KEEP(now ^ 1)
    barrier(CLK_LOCAL_MEM_FENCE);
    now ^= 1;
  }
#define SUM(i) sum[(i) / (RN / 8)][(i) % (RN / 8)]
  ADD_SLICES(float4, (RM / 16 * RN / 8), SUM)
#pragma unroll
  for (int r = 0; r < RM / 16; ++r) {
#pragma unroll
    for (int c = 0; c < RN / 8; ++c) {
      const int row = first_row + warp_row + r * 16 + lane / 4, column = first_column + warp_column + c * 8 + lane % 4 * 2;
      STORE(sum[r][c].x, row, column)
      STORE(sum[r][c].y, row, column + 1)
      STORE(sum[r][c].z, row + 8, column)
      STORE(sum[r][c].w, row + 8, column + 1)
    }
  }
}
#endif
