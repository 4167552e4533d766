// Products for processors: B stands in panels of COLUMNS columns, row after row of them, and a work item keeps ROWS rows of one
// panel of C in vector registers. GPUs have ops/tiles.cl.
//
// BYTES: of an element. PACKED_A: A stands in blocks of ROWS rows, column after column; ALONG_K_A: its neighbours along k are
// neighbours in memory.

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define COLUMNS 16
#define V JOIN(TX, LANES)
#define VECTORS (COLUMNS / LANES)
#define LOAD JOIN(vload, LANES)
#define STORE JOIN(vstore, LANES)

// The same struct stands in product.h.
typedef struct {
  long b_panel, b_image, y_image;  // elements from panel to panel of B, from image to image
  int m, n, k;                     // n columns in each image
  int row_a, col_a;
  int b_row;                       // elements from row to row of a panel
  int b_column;                    // from column to column where panels are not packed: 1, else 0
  int panels, first;               // panels in an image; the first of this launch
  int row_bias, col_bias;
  float alpha, beta;
} Product;

#ifdef KERNEL_multiply
__kernel void multiply(__global uchar* a_, ulong ao, __global uchar* b_, ulong bo, __global uchar* bias_, ulong biaso,
                       __global uchar* y_, ulong yo, Product p, Strided stack EPILOGUE_PARAMETERS) {
  const int first_row = get_global_id(0) * ROWS;
  if (first_row >= p.m) return;
  const int panel = p.first + get_global_id(1), image = panel / p.panels, column = panel % p.panels * COLUMNS;
  long at_a = 0, at_b = 0, at_bias = 0, rest = get_global_id(2);
  for (int d = stack.rank - 1; d >= 0; --d) {
    const long at = rest % stack.dims[d];
    rest /= stack.dims[d];
    at_a += at * stack.a[d];
    at_b += at * stack.b[d];
    at_bias += at * stack.c[d];
  }
  __global const TX* b = (__global const TX*)(b_ + bo) + at_b + (long)get_global_id(1) * p.b_panel + image * p.b_image + column * p.b_column;
#ifdef PACKED_A
  __global const TX* a = (__global const TX*)(a_ + ao) + at_a + (long)first_row * p.k;
#define LEFT(r) a[(long)i * ROWS + r]
#else
  __global const uchar* rows[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) rows[r] = a_ + ao + (at_a + (long)min(first_row + r, p.m - 1) * p.row_a) * BYTES;
#ifdef ALONG_K_A
#define LEFT(r) GET_X(rows[r], i)
#else
#define LEFT(r) GET_X(rows[r], (long)i * p.col_a)
#endif
#endif
  V sum[ROWS][VECTORS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) sum[r][v] = 0;
  }
  for (int i = 0; i < p.k; ++i, b += p.b_row) {
    V right[VECTORS];
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) right[v] = LOAD(v, b);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const V left = (V)LEFT(r);
#pragma unroll
      for (int v = 0; v < VECTORS; ++v) sum[r][v] += left * right[v];
    }
  }
  TX values[ROWS * COLUMNS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) STORE(sum[r][v] * (TX)p.alpha, v, values + r * COLUMNS);
  }
  const int width = min(COLUMNS, p.n - column), count = min(ROWS, p.m - first_row);
  const long at_y = (long)get_global_id(2) * p.m * p.n + image * p.y_image + (long)first_row * p.n + column;
  if (bias_ != 0) {
    for (int r = 0; r < count; ++r) {
      const long from = at_bias + (long)(first_row + r) * p.row_bias + (long)column * p.col_bias;
      if (p.col_bias == 0) {
        const TX value = p.beta * GET_X(bias_ + biaso, from);
        for (int j = 0; j < COLUMNS; ++j) values[r * COLUMNS + j] += value;
      } else {
        for (int j = 0; j < width; ++j) values[r * COLUMNS + j] += p.beta * GET_X(bias_ + biaso, from + (long)j * p.col_bias);
      }
    }
  }
  // Whole panels in loops of a constant length, which compilers turn into vectors: nothing is stored before all is loaded.
  for (int r = 0; r < count; ++r) {
    const long at = at_y + (long)r * p.n;
    if (width == COLUMNS) {
      TX results[COLUMNS];
      for (int j = 0; j < COLUMNS; ++j) results[j] = EPILOGUE(values[r * COLUMNS + j], at + j);
      for (int j = 0; j < COLUMNS; ++j) PUT_X(y_ + yo, at + j, results[j]);
    } else {
      for (int j = 0; j < width; ++j) PUT_X(y_ + yo, at + j, EPILOGUE(values[r * COLUMNS + j], at + j));
    }
  }
}
#endif

#ifdef KERNEL_pack_rows
// A[m, k] to blocks of ROWS rows, column after column, a stack of them in the third dimension. An item packs one column.
__kernel void pack_rows(__global uchar* a_, ulong ao, __global uchar* y_, ulong yo, int m, int k, long stack_a) {
  const int i = get_global_id(0), first_row = get_global_id(1) * ROWS;
  const long blocks = get_global_size(1);
  __global TX* to = (__global TX*)(y_ + yo) + ((get_global_id(2) * blocks + get_global_id(1)) * k + i) * ROWS;
  for (int r = 0; r < ROWS; ++r) to[r] = first_row + r < m ? GET_X(a_ + ao, get_global_id(2) * stack_a + (long)(first_row + r) * k + i) : (TX)0;
}
#endif

#ifdef KERNEL_pack_matrix
// B[k, n] with strides to panels, a stack of them in the third dimension. An item packs one row of a panel.
__kernel void pack_matrix(__global uchar* b_, ulong bo, __global uchar* y_, ulong yo, int k, int n, int row_b, int col_b, long stack_b) {
  const int i = get_global_id(0), column = get_global_id(1) * COLUMNS;
  const long panels = get_global_size(1);
  const long from = get_global_id(2) * stack_b + (long)i * row_b + (long)column * col_b;
  __global TX* to = (__global TX*)(y_ + yo) + ((get_global_id(2) * panels + get_global_id(1)) * k + i) * COLUMNS;
  for (int j = 0; j < COLUMNS; ++j) to[j] = column + j < n ? GET_X(b_ + bo, from + (long)j * col_b) : (TX)0;
}
#endif

// Up to three spatial dimensions; the same struct stands in window.h.
typedef struct { int in[3], out[3], window[3], stride[3], dilation[3], pad[3]; int channels, filters, group_in, group_out; } Geometry;

#ifdef KERNEL_pack_image
// The windows of `COLUMNS` output positions as rows of a panel, one for each tap of one channel; groups in the third dimension.
__kernel void pack_image(__global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Geometry g, int panels, int first) {
  const int panel = first + get_global_id(1), image = panel / panels;
  const int taps = g.window[0] * g.window[1] * g.window[2], channel = get_global_id(2) * g.group_in + get_global_id(0);
  const int positions = g.out[0] * g.out[1] * g.out[2], start = panel % panels * COLUMNS;
  const long plane = ((long)image * g.channels + channel) * g.in[0] * g.in[1] * g.in[2];
  const int from0 = start / (g.out[1] * g.out[2]), from1 = start / g.out[2] % g.out[1], from2 = start % g.out[2];
  const long k = (long)get_global_size(0) * taps;
  __global TX* to = (__global TX*)(y_ + yo) +
                    ((get_global_id(2) * get_global_size(1) + get_global_id(1)) * k + (long)get_global_id(0) * taps) * COLUMNS;
  for (int k0 = 0; k0 < g.window[0]; ++k0) {
    for (int k1 = 0; k1 < g.window[1]; ++k1) {
      for (int k2 = 0; k2 < g.window[2]; ++k2, to += COLUMNS) {
        const int d0 = k0 * g.dilation[0] - g.pad[0], d1 = k1 * g.dilation[1] - g.pad[1], d2 = k2 * g.dilation[2] - g.pad[2];
        int o0 = from0, o1 = from1, o2 = from2, j = 0;
        while (j < COLUMNS) {  // one row of positions after the other
          const int i0 = o0 * g.stride[0] + d0, i1 = o1 * g.stride[1] + d1, i2 = o2 * g.stride[2] + d2;
          const int end = min(COLUMNS, j + g.out[2] - o2);
          if (start + j >= positions || i0 < 0 || i0 >= g.in[0] || i1 < 0 || i1 >= g.in[1]) {
            for (; j < end; ++j) to[j] = 0;
          } else {
            const __global uchar* row = x_ + xo + (plane + ((long)i0 * g.in[1] + i1) * g.in[2]) * BYTES;
            if (end - j == COLUMNS && g.stride[2] == 1 && i2 >= 0 && i2 + COLUMNS <= g.in[2]) {
              for (; j < COLUMNS; ++j) to[j] = GET_X(row, i2 + j);
            } else {
              // Positions [low, high) read inside the row.
              const int s2 = g.stride[2], low = i2 < 0 ? min(end, j + (s2 - 1 - i2) / s2) : j;
              const int high = i2 < g.in[2] ? min(end, j + (g.in[2] - 1 - i2) / s2 + 1) : j;
              const __global uchar* from = row + (long)(i2 + (low - j) * s2) * BYTES;
              for (; j < low; ++j) to[j] = 0;
              for (int i = 0; j < high; ++j, i += s2) to[j] = GET_X(from, i);
              for (; j < end; ++j) to[j] = 0;
            }
          }
          o2 = 0;
          if (++o1 == g.out[1]) o1 = 0, ++o0;
        }
      }
    }
  }
}
#endif

#ifdef KERNEL_depthwise
// One filter a channel, two spatial dimensions: an item computes COLUMNS positions of a row. Rows in the second dimension,
// channels of all images in the third.
__kernel void depthwise(__global uchar* x_, ulong xo, __global uchar* w_, ulong wo, __global uchar* bias_, ulong biaso, __global uchar* y_,
                        ulong yo, Geometry g EPILOGUE_PARAMETERS) {
  const int o2 = get_global_id(0) * COLUMNS, o1 = get_global_id(1), count = min(COLUMNS, g.out[2] - o2);
  const int filter = get_global_id(2) % g.filters;
  const long plane = get_global_id(2) / g.filters * g.channels + filter / g.group_out;
  const int taps = g.window[1] * g.window[2];
  TX sum[COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) sum[j] = bias_ != 0 ? GET_X(bias_ + biaso, filter) : (TX)0;
  for (int k1 = 0; k1 < g.window[1]; ++k1) {
    const int i1 = o1 * g.stride[1] + k1 * g.dilation[1] - g.pad[1];
    if (i1 < 0 || i1 >= g.in[1]) continue;
    const long row = (plane * g.in[1] + i1) * g.in[2];
    for (int k2 = 0; k2 < g.window[2]; ++k2) {
      const TX weight = GET_X(w_ + wo, (long)filter * taps + k1 * g.window[2] + k2);
      const int i2 = o2 * g.stride[2] + k2 * g.dilation[2] - g.pad[2];
      if (i2 >= 0 && i2 + (COLUMNS - 1) * g.stride[2] < g.in[2]) {
        for (int j = 0; j < COLUMNS; ++j) sum[j] += weight * GET_X(x_ + xo, row + i2 + j * g.stride[2]);
      } else {
        for (int j = 0; j < count; ++j) {
          const int at = i2 + j * g.stride[2];
          if (at >= 0 && at < g.in[2]) sum[j] += weight * GET_X(x_ + xo, row + at);
        }
      }
    }
  }
  const long at_y = ((long)get_global_id(2) * g.out[1] + o1) * g.out[2] + o2;
  for (int j = 0; j < count; ++j) PUT_X(y_ + yo, at_y + j, EPILOGUE(sum[j], at_y + j));
}
#endif
