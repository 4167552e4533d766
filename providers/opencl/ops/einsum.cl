// Sums of products of two operands, wherever their dimensions lie. Dimensions fall into four groups: 0 the stack (in both and in
// the result), 1 rows (in A and the result), 2 columns (in B and the result), 3 what is summed over.
typedef struct { int rank[4]; long dims[12], a[12], b[12], y[12]; } Groups;
typedef struct { long a, b, y; } Offsets;

// Where element i of a group lies.
static inline Offsets offsets_of(const Groups* g, int group, long i) {
  int first = 0;
  for (int k = 0; k < group; ++k) first += g->rank[k];
  Offsets at = {0, 0, 0};
  for (int d = first + g->rank[group] - 1; d >= first; --d) {
    const long index = i % g->dims[d];
    i /= g->dims[d];
    at.a += index * g->a[d];
    at.b += index * g->b[d];
    at.y += index * g->y[d];
  }
  return at;
}

// A TILE x TILE group keeps a tile of each operand in local memory; every work item computes PER rows of its column.
__kernel __attribute__((reqd_work_group_size(TILE, TILE / PER, 1)))
void contract(__global uchar* a_, ulong ao, __global uchar* b_, ulong bo, __global uchar* y_, ulong yo, Groups g, long m, long n, long k,
              float alpha) {
  __local TX tile_a[TILE][TILE + 1], tile_b[TILE][TILE + 1];
  const int x = get_local_id(0), local_row = get_local_id(1);
  const long column = (long)get_group_id(0) * TILE + x, first_row = (long)get_group_id(1) * TILE;
  const Offsets stack = offsets_of(&g, 0, get_group_id(2)), across = offsets_of(&g, 2, min(column, n - 1));
  Offsets rows[PER];
  TX sum[PER];
  for (int r = 0; r < PER; ++r) {
    sum[r] = 0;
    rows[r] = offsets_of(&g, 1, min(first_row + local_row + r * (TILE / PER), m - 1));
  }
  for (long k0 = 0; k0 < k; k0 += TILE) {
    const Offsets along = offsets_of(&g, 3, min(k0 + x, k - 1));
    for (int r = 0; r < PER; ++r) {
      const int row = local_row + r * (TILE / PER);
      const Offsets down = offsets_of(&g, 3, min(k0 + row, k - 1));
      tile_a[row][x] = k0 + x < k ? GET_X(a_ + ao, stack.a + rows[r].a + along.a) : (TX)0;
      // Without B it is all ones.
      tile_b[row][x] = k0 + row >= k ? (TX)0 : b_ != 0 ? GET_X(b_ + bo, stack.b + across.b + down.b) : (TX)1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < TILE; ++i) {
      const TX right = tile_b[i][x];
      for (int r = 0; r < PER; ++r) {
#ifdef REAL_X
        sum[r] += tile_a[local_row + r * (TILE / PER)][i] * right;
#else
        sum[r] = (TX)((WX)sum[r] + (WX)tile_a[local_row + r * (TILE / PER)][i] * (WX)right);
#endif
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int r = 0; r < PER; ++r) {
    if (first_row + local_row + r * (TILE / PER) >= m || column >= n) continue;
#ifdef REAL_X
    sum[r] *= alpha;
#endif
    PUT_X(y_ + yo, stack.y + rows[r].y + across.y, sum[r]);
  }
}
