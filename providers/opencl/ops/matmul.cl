// C[m, n] = alpha * A[m, k] B[k, n] (+ beta * bias), a stack of products in the third dimension. A TILE x TILE group keeps a tile
// of each operand in local memory; every work item computes PER rows of its column.
__kernel __attribute__((reqd_work_group_size(TILE, TILE / PER, 1)))
void product(__global uchar* a_, ulong ao, __global uchar* b_, ulong bo, __global uchar* bias_, ulong biaso, __global uchar* y_, ulong yo,
             int m, int n, int k, int row_a, int col_a, int row_b, int col_b, int row_bias, int col_bias, float alpha, float beta,
             Strided stack) {
  __local TX tile_a[TILE][TILE + 1];
  __local TX tile_b[TILE][TILE + 1];
  long at_a = 0, at_b = 0, rest = get_global_id(2);
  for (int d = stack.rank - 1; d >= 0; --d) {
    const long at = rest % stack.dims[d];
    rest /= stack.dims[d];
    at_a += at * stack.a[d];
    at_b += at * stack.b[d];
  }
  const long at_y = (long)get_global_id(2) * m * n;
  const int x = get_local_id(0), line = get_local_id(1);
  const int column = get_group_id(0) * TILE + x, first_row = get_group_id(1) * TILE;
  TX sum[PER];
  for (int r = 0; r < PER; ++r) sum[r] = 0;
  for (int k0 = 0; k0 < k; k0 += TILE) {
    for (int r = 0; r < PER; ++r) {
      const int row = line + r * (TILE / PER);
      const int ra = first_row + row, ka = k0 + x, kb = k0 + row;
      tile_a[row][x] = ra < m && ka < k ? GET_X(a_ + ao, at_a + (long)ra * row_a + (long)ka * col_a) : (TX)0;
      tile_b[row][x] = kb < k && column < n ? GET_X(b_ + bo, at_b + (long)kb * row_b + (long)column * col_b) : (TX)0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < TILE; ++i) {
      const TX right = tile_b[i][x];
      for (int r = 0; r < PER; ++r) sum[r] += tile_a[line + r * (TILE / PER)][i] * right;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int r = 0; r < PER; ++r) {
    const int row = first_row + line + r * (TILE / PER);
    if (row >= m || column >= n) continue;
#ifdef REAL_X
    TX value = alpha * sum[r];
    if (bias_ != 0) value += beta * GET_X(bias_ + biaso, (long)row * row_bias + (long)column * col_bias);
#else
    const TX value = sum[r];
#endif
    PUT_X(y_ + yo, at_y + (long)row * n + column, value);
  }
}
