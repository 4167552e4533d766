// GEMM for processors: B stands in panels of COLUMNS columns, row after row of them, and a work item computes `together` blocks
// of rows of one panel of C, each in vector registers (block.cl). GPUs have tile_gemm.cl.

// The same struct stands in panel_gemm.h.
typedef struct {
  long b_panel, b_image, y_image;  // elements from panel to panel of B, from image to image
  int m, n, k;                     // n columns in each image
  int row_a, col_a;
  int b_row;                       // elements from row to row of a panel
  int b_column;                    // from column to column where B stands in rows of n columns: 1; 0 where it stands in panels
  int panels, first;               // panels in an image; the first of this launch
  int row_bias, col_bias;
  int together;                    // at most MOST
  int across;                      // panels are in the first dimension, blocks of rows in the second
  float alpha, beta;
} GemmShape;

#ifdef KERNEL_multiply
INLINE Rows rows_of(__global const uchar* a_, long at, int first_row, int first_k, GemmShape p) {
  Rows rows;
#ifdef PACKED_A
  rows.at = (__global const TX*)a_ + at + (long)first_row * p.k + (long)first_k * ROWS;
#else
#pragma unroll
  for (int r = 0; r < ROWS; ++r) rows.at[r] = a_ + (at + (long)min(first_row + r, p.m - 1) * p.row_a + (long)first_k * p.col_a) * BYTES;
  rows.column = p.col_a;
#endif
  return rows;
}

#ifdef BITS
// `count` steps of a panel from first_k on, as weights: quantized values of BITS bits stand byte after byte along k
// (matmul_nbits_weights.cl).
INLINE void decode_steps(float* chunk, __global const uchar* quantized, int panel, int first_k, int count, int k EPILOGUE_PARAMETERS) {
  for (int i = 0; i < count; i += BLOCK) {
    const float16 scale = scales_of(scales_ + so, panel, (first_k + i) / BLOCK, k), zero = ZEROS_OF(panel, (first_k + i) / BLOCK, k);
    const int steps = min(BLOCK, count - i);
    for (int step = i; step < i + steps; step += PER_BYTE) {
      const uchar16 bytes = vload16((first_k + step) / PER_BYTE, quantized);
#pragma unroll
      for (int c = 0; c < PER_BYTE; ++c) vstore16(CENTERED(bytes, c, zero) * scale, step + c, chunk);
    }
  }
}
#define KEEP_STEPS(chunk, count) decode_steps(chunk, quantized, panel_here, first_k, count, p.k EPILOGUE_ARGUMENTS);
#else
// The same of a matrix: in panels, or where it stands, the last columns of which are less than a panel.
INLINE void keep_steps(TX* chunk, __global const TX* b, int count, int width, int row) {
  if (width == COLUMNS) {
    for (int i = 0; i < count; ++i) {
#pragma unroll
      for (int v = 0; v < VECTORS; ++v) STORE(LOAD(v, b + (long)i * row), v, chunk + i * COLUMNS);
    }
  } else {
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < COLUMNS; ++j) chunk[i * COLUMNS + j] = j < width ? b[(long)i * row + j] : (TX)0;
    }
  }
}
#define KEEP_STEPS(chunk, count) keep_steps(chunk, b + (long)first_k * p.b_row, count, width, p.b_row);
#endif

// Bias and what follows, for a block of accumulators.
INLINE void finish_block(TX* values, int first_row, int column, long at_y, __global const uchar* bias, long at_bias, __global uchar* y,
                         GemmShape p EPILOGUE_PARAMETERS) {
  const int width = min(COLUMNS, p.n - column), count = min(ROWS, p.m - first_row);
  for (int j = 0; j < ROWS * COLUMNS; ++j) values[j] *= (TX)p.alpha;
  if (bias != 0) {
    for (int r = 0; r < count; ++r) {
      const long from = at_bias + (long)(first_row + r) * p.row_bias + (long)column * p.col_bias;
      if (p.col_bias == 0) {
        const TX value = p.beta * GET_X(bias, from);
        for (int j = 0; j < COLUMNS; ++j) values[r * COLUMNS + j] += value;
      } else {
        for (int j = 0; j < width; ++j) values[r * COLUMNS + j] += p.beta * GET_X(bias, from + (long)j * p.col_bias);
      }
    }
  }
  // Whole panels in loops of a constant length, which compilers turn into vectors: nothing is stored before all is loaded.
  for (int r = 0; r < count; ++r) {
    const int row = first_row + r;
    const long at = at_y + (long)row * p.n + column;
    if (width == COLUMNS) {
      TR results[COLUMNS];
      for (int j = 0; j < COLUMNS; ++j) results[j] = RESULT(values[r * COLUMNS + j], at + j, row, column + j);
      for (int j = 0; j < COLUMNS; ++j) PUT_R(y, at + j, results[j]);
    } else {
      for (int j = 0; j < width; ++j) PUT_R(y, at + j, RESULT(values[r * COLUMNS + j], at + j, row, column + j));
    }
  }
}

__kernel void multiply(__global uchar* a_, ulong ao, __global uchar* b_, ulong bo, __global uchar* bias_, ulong biaso,
                       __global uchar* y_, ulong yo, GemmShape p, Strided stack EPILOGUE_PARAMETERS) {
  const int batch = get_global_id(p.across), panel_here = get_global_id(1 - p.across);
  const int panel = p.first + panel_here, image = panel / p.panels, column = panel % p.panels * COLUMNS;
  const int first_row = batch * p.together * ROWS, blocks = min(p.together, (p.m - first_row + ROWS - 1) / ROWS);
  long at_a = 0, at_b = 0, at_bias = 0, rest = get_global_id(2);
  for (int d = stack.rank - 1; d >= 0; --d) {
    const long at = rest % stack.dims[d];
    rest /= stack.dims[d];
    at_a += at * stack.a[d];
    at_b += at * stack.b[d];
    at_bias += at * stack.c[d];
  }
#ifdef BITS
  __global const uchar* quantized = b_ + bo + (long)panel_here * p.b_panel;
#else
  __global const TX* b = (__global const TX*)(b_ + bo) + at_b + (long)panel_here * p.b_panel + image * p.b_image + column * p.b_column;
  const int width = p.b_column == 0 ? COLUMNS : min(COLUMNS, p.n - column);  // that may be read
#endif
  const long at_y = (long)get_global_id(2) * p.m * p.n + image * p.y_image;
  TX values[MOST * ROWS * COLUMNS];
  V sum[ROWS][VECTORS];
#ifndef BITS
  if (blocks == 1 && width == COLUMNS) {
    const Rows rows = rows_of(a_ + ao, at_a, first_row, 0, p);
    clear_block(sum);
    MULTIPLY_ADD(sum, rows, b, p.b_row, p.k)
    store_block(sum, values, COLUMNS);
  } else
#endif
  {
    // So many rows of the panel at a time as stay in the first cache, next to each other, for all blocks.
    TX chunk[DEPTH * COLUMNS];
    for (int block = 0; block < blocks * ROWS * COLUMNS; ++block) values[block] = 0;
    for (int first_k = 0; first_k < p.k; first_k += DEPTH) {
      const int count = min(DEPTH, p.k - first_k);
      KEEP_STEPS(chunk, count)
      for (int block = 0; block < blocks; ++block) {
        const Rows rows = rows_of(a_ + ao, at_a, first_row + block * ROWS, first_k, p);
        load_block(sum, values + block * ROWS * COLUMNS, COLUMNS);
        MULTIPLY_ADD(sum, rows, chunk, COLUMNS, count)
        store_block(sum, values + block * ROWS * COLUMNS, COLUMNS);
      }
    }
  }
  for (int block = 0; block < blocks; ++block) {
    finish_block(values + block * ROWS * COLUMNS, first_row + block * ROWS, column, at_y, bias_ == 0 ? 0 : bias_ + biaso, at_bias, y_ + yo,
                 p EPILOGUE_ARGUMENTS);
  }
}
#endif

#ifdef KERNEL_pack_rows
// A[m, k] with strides to blocks of ROWS rows, column after column, a stack of them in the third dimension. An item packs one column.
__kernel void pack_rows(__global uchar* a_, ulong ao, __global uchar* y_, ulong yo, int m, int k, long row_a, long col_a, long stack_a) {
  const int i = get_global_id(0), first_row = get_global_id(1) * ROWS;
  const long blocks = (m + ROWS - 1) / ROWS;
  __global TX* to = (__global TX*)(y_ + yo) + ((get_global_id(2) * blocks + get_global_id(1)) * k + i) * ROWS;
  for (int r = 0; r < ROWS; ++r) to[r] = first_row + r < m ? GET_X(a_ + ao, get_global_id(2) * stack_a + (first_row + r) * row_a + i * col_a) : (TX)0;
}
#endif

#ifdef KERNEL_pack_matrix
// B[k, n] with strides to panels, a stack of them in the third dimension. An item packs PACK_ROWS rows of a panel: neighbours in memory
// one after the other, so that they come by vectors, or by lines of the cache that no other item needs.
__kernel void pack_matrix(__global uchar* b_, ulong bo, __global uchar* y_, ulong yo, int k, int n, int row_b, int col_b, long stack_b) {
  const int first = get_global_id(0) * PACK_ROWS, column = get_global_id(1) * COLUMNS;
  const int rows_here = min(PACK_ROWS, k - first), width = min(COLUMNS, n - column);
  const long panels = (n + COLUMNS - 1) / COLUMNS;
  __global const uchar* b = b_ + bo;
  long from = get_global_id(2) * stack_b + (long)first * row_b + (long)column * col_b;
  __global TX* to = (__global TX*)(y_ + yo) + ((get_global_id(2) * panels + get_global_id(1)) * k + first) * COLUMNS;
  if (width < COLUMNS) {
    for (int i = 0; i < rows_here * COLUMNS; ++i) to[i] = 0;
  }
  if (col_b != 1) {
    for (int j = 0; j < width; ++j, from += col_b) {
      for (int i = 0; i < rows_here; ++i) to[i * COLUMNS + j] = GET_X(b, from + (long)i * row_b);
    }
  } else if (width < COLUMNS) {
    for (int i = 0; i < rows_here; ++i, from += row_b, to += COLUMNS) {
      for (int j = 0; j < width; ++j) to[j] = GET_X(b, from + j);
    }
  } else {
    for (int i = 0; i < rows_here; ++i, from += row_b, to += COLUMNS) {
      TX row[COLUMNS];
      for (int j = 0; j < COLUMNS; ++j) row[j] = GET_X(b, from + j);
      for (int j = 0; j < COLUMNS; ++j) to[j] = row[j];
    }
  }
}
#endif

#ifdef KERNEL_pack_image
// What one tap, at (d0, d1, d2) of the window, reads of a plane for `COLUMNS` output positions from (o0, o1, o2) on, of which `left`
// are in the image.
static inline __attribute__((always_inline)) void pack_tap(__global const uchar* plane, __global TX* to, Geometry g, int d0, int d1, int d2, int o0,
                                                    int o1, int o2, int left) {
  int j = 0;
  while (j < COLUMNS) {  // one row of positions after the other
    const int i0 = o0 * g.stride[0] + d0, i1 = o1 * g.stride[1] + d1, i2 = o2 * g.stride[2] + d2;
    const int end = min(COLUMNS, j + g.out[2] - o2);
    if (j >= left || i0 < 0 || i0 >= g.in[0] || i1 < 0 || i1 >= g.in[1]) {
      for (; j < end; ++j) to[j] = 0;
    } else {
      __global const uchar* row = plane + ((long)i0 * g.in[1] + i1) * g.in[2] * BYTES;
      if (end - j == COLUMNS && g.stride[2] == 1 && i2 >= 0 && i2 + COLUMNS <= g.in[2]) {
        for (; j < COLUMNS; ++j) to[j] = GET_X(row, i2 + j);
      } else if (end - j == COLUMNS && g.stride[2] == 2 && i2 >= 0 && i2 + 2 * COLUMNS - 2 < g.in[2]) {
        for (; j < COLUMNS; ++j) to[j] = GET_X(row, i2 + 2 * j);
      } else {
        // Positions [low, high) read inside the row.
        const int s2 = g.stride[2], low = i2 < 0 ? min(end, j + (s2 - 1 - i2) / s2) : j;
        const int high = i2 < g.in[2] ? min(end, j + (g.in[2] - 1 - i2) / s2 + 1) : j;
        __global const uchar* from = row + (long)(i2 + (low - j) * s2) * BYTES;
        for (; j < low; ++j) to[j] = 0;
        for (int i = 0; j < high; ++j, i += s2) to[j] = GET_X(from, i);
        for (; j < end; ++j) to[j] = 0;
      }
    }
    o2 = 0;
    if (++o1 == g.out[1]) o1 = 0, ++o0;
  }
}

// The windows of `COLUMNS` output positions as rows of a panel, one for each tap of a channel; CHANNELS channels an item, groups in the
// third dimension. `here`: how many panels of a group are made.
__kernel void pack_image(__global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Geometry g, int panels, int first, long here) {
  const int panel = first + get_global_id(1), image = panel / panels, first_channel = get_global_id(0) * CHANNELS;
  const int positions = g.out[0] * g.out[1] * g.out[2], start = panel % panels * COLUMNS;
  const int o0 = start / (g.out[1] * g.out[2]), o1 = start / g.out[2] % g.out[1], o2 = start % g.out[2];
  const long taps = g.window[0] * g.window[1] * g.window[2], size = (long)g.in[0] * g.in[1] * g.in[2];
  __global const uchar* plane = x_ + xo + ((long)image * g.channels + get_global_id(2) * g.group_in + first_channel) * size * BYTES;
  __global TX* to = (__global TX*)(y_ + yo) +
                    ((get_global_id(2) * here + get_global_id(1)) * g.group_in + first_channel) * taps * COLUMNS;
  const int count = min(CHANNELS, g.group_in - first_channel);
  for (int c = 0; c < count; ++c, plane += size * BYTES) {
    for (int k0 = 0; k0 < g.window[0]; ++k0) {
      for (int k1 = 0; k1 < g.window[1]; ++k1) {
        for (int k2 = 0; k2 < g.window[2]; ++k2, to += COLUMNS) {
          pack_tap(plane, to, g, k0 * g.dilation[0] - g.pad[0], k1 * g.dilation[1] - g.pad[1], k2 * g.dilation[2] - g.pad[2], o0, o1, o2,
                   positions - start);
        }
      }
    }
  }
}
#endif
