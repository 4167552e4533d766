// Products and convolutions of bytes with zero points, sums in int. FINISH says what becomes of a sum: STORE_SUM keeps it,
// STORE_REAL scales it to floating point, STORE_CODE scales and rounds it to a code of Y.
#if defined(STORE_SUM)
#define FINISH(at, sum, channel) PUT_Y(y_ + yo, at, sum)
#elif defined(STORE_REAL)
#define FINISH(at, sum, channel) PUT_Y(y_ + yo, at, (float)(sum) * (AT(const float, a_scale_, aso)[0] * AT(const float, b_scale_, bso)[(channel) * s.b_scale]) \
                                                        + (bias_ != 0 ? AT(const float, bias_, biaso)[channel] : 0.0f))
#else
#define FINISH(at, sum, channel)                                                                                          \
  PUT_Y(y_ + yo, at, clamp(rint((float)(sum) * (GET_S(a_scale_ + aso, 0) * GET_S(b_scale_ + bso, (channel) * s.b_scale)   \
                                                / GET_S(y_scale_ + yso, 0)))                                              \
                               + (y_zero_ != 0 ? (float)GET_Y(y_zero_ + yzo, 0) : 0.0f), (float)LOWEST, (float)HIGHEST))
#endif
#define OPERANDS                                                                                                          \
  __global uchar* a_, ulong ao, __global uchar* b_, ulong bo, __global uchar* a_zero_, ulong azo, __global uchar* b_zero_, ulong bzo,      \
      __global uchar* a_scale_, ulong aso, __global uchar* b_scale_, ulong bso, __global uchar* y_scale_, ulong yso,      \
      __global uchar* y_zero_, ulong yzo, __global uchar* bias_, ulong biaso, __global uchar* y_, ulong yo
// Steps: 1 where there is one for each channel of B, 0 where there is one for all.
typedef struct { int b_zero, b_scale; } Steps;

#ifdef KERNEL_product
// Y[m, n] from A[m, k] and B[k, n], a stack of them. A TILE x TILE group keeps a tile of each operand in local memory; every work
// item computes PER rows of its column.
__kernel __attribute__((reqd_work_group_size(TILE, TILE / PER, 1)))
void product(OPERANDS, Steps s, long m, long n, long k, Strided stack) {
  __local int tile_a[TILE][TILE + 1], tile_b[TILE][TILE + 1];
  long at_a = 0, at_b = 0, rest = get_global_id(2);
  for (int d = stack.rank - 1; d >= 0; --d) {
    const long at = rest % stack.dims[d];
    rest /= stack.dims[d];
    at_a += at * stack.a[d];
    at_b += at * stack.b[d];
  }
  const int x = get_local_id(0), line = get_local_id(1);
  const long column = (long)get_group_id(0) * TILE + x, first_row = (long)get_group_id(1) * TILE;
  const int a_zero = a_zero_ != 0 ? (int)GET_A(a_zero_ + azo, 0) : 0;
  const int b_zero = b_zero_ != 0 && column < n ? (int)GET_B(b_zero_ + bzo, column * s.b_zero) : 0;
  int sum[PER];
  for (int r = 0; r < PER; ++r) sum[r] = 0;
  for (long k0 = 0; k0 < k; k0 += TILE) {
    for (int r = 0; r < PER; ++r) {
      const int row = line + r * (TILE / PER);
      const long ra = first_row + row, ka = k0 + x, kb = k0 + row;
      tile_a[row][x] = ra < m && ka < k ? (int)GET_A(a_ + ao, at_a + ra * k + ka) - a_zero : 0;
      tile_b[row][x] = kb < k && column < n ? (int)GET_B(b_ + bo, at_b + kb * n + column) - b_zero : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < TILE; ++i) {
      const int right = tile_b[i][x];
      for (int r = 0; r < PER; ++r) sum[r] += tile_a[line + r * (TILE / PER)][i] * right;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int r = 0; r < PER; ++r) {
    const long row = first_row + line + r * (TILE / PER);
    if (row < m && column < n) FINISH((long)get_global_id(2) * m * n + row * n + column, sum[r], column);
  }
}
#endif

#ifdef KERNEL_convolve

// One work item computes PER output channels of one position. Padding is A's zero point: it adds nothing.
__kernel void convolve(ulong total, OPERANDS, Steps s, Geometry g) {
  const long position = get_global_id(0);
  if ((ulong)position >= total) return;
  const long in_size = (long)g.in[0] * g.in[1] * g.in[2], out_size = (long)g.out[0] * g.out[1] * g.out[2];
  const long taps = (long)g.window[0] * g.window[1] * g.window[2];
  const int blocks = (g.group_out + PER - 1) / PER;
  const int group = get_global_id(1) / blocks, first = (get_global_id(1) % blocks) * PER, base = group * g.group_out;
  const long batch = get_global_id(2);
  const int o0 = position / ((long)g.out[1] * g.out[2]), o1 = position / g.out[2] % g.out[1], o2 = position % g.out[2];
  const int a_zero = a_zero_ != 0 ? (int)GET_A(a_zero_ + azo, 0) : 0;
  int sum[PER], zero[PER];
  for (int p = 0; p < PER; ++p) {
    const long filter = base + min(first + p, g.group_out - 1);
#ifdef STORE_CODE
    sum[p] = bias_ != 0 ? AT(const int, bias_, biaso)[filter] : 0;
#else
    sum[p] = 0;
#endif
    zero[p] = b_zero_ != 0 ? (int)GET_B(b_zero_ + bzo, filter * s.b_zero) : 0;
  }
  for (int c = 0; c < g.group_in; ++c) {
    const long plane = (batch * g.channels + (long)group * g.group_in + c) * in_size;
    for (int k0 = 0; k0 < g.window[0]; ++k0) {
      const int i0 = o0 * g.stride[0] + k0 * g.dilation[0] - g.pad[0];
      if (i0 < 0 || i0 >= g.in[0]) continue;
      for (int k1 = 0; k1 < g.window[1]; ++k1) {
        const int i1 = o1 * g.stride[1] + k1 * g.dilation[1] - g.pad[1];
        if (i1 < 0 || i1 >= g.in[1]) continue;
        for (int k2 = 0; k2 < g.window[2]; ++k2) {
          const int i2 = o2 * g.stride[2] + k2 * g.dilation[2] - g.pad[2];
          if (i2 < 0 || i2 >= g.in[2]) continue;
          const int value = (int)GET_A(a_ + ao, plane + ((long)i0 * g.in[1] + i1) * g.in[2] + i2) - a_zero;
          const long tap = ((long)k0 * g.window[1] + k1) * g.window[2] + k2;
          for (int p = 0; p < PER; ++p) {
            const long filter = base + min(first + p, g.group_out - 1);
            sum[p] += value * ((int)GET_B(b_ + bo, (filter * g.group_in + c) * taps + tap) - zero[p]);
          }
        }
      }
    }
  }
  for (int p = 0; p < PER && first + p < g.group_out; ++p) {
    const long filter = base + first + p;
    FINISH((batch * g.filters + filter) * out_size + position, sum[p], filter);
  }
}
#endif
