// Convolution of each channel by filters of its own, of images of one and two dimensions, for processors. An item computes a tile of
// a plane: what the tile's windows read is copied first, with zeros for what lies outside of the plane, and every stride[2]-th column
// next to each other, so that each tap adds whole vectors. Stands after ops/block.cl.

// Row `row` of a plane from column `column` on, as PHASES lines of `line` elements.
INLINE void keep_row(TX* to, __global const uchar* plane, int row, int column, Geometry g, int phases, int line) {
  const bool outside = row < 0 || row >= g.in[1];
  __global const uchar* from = plane + (long)row * g.in[2] * BYTES;
  for (int p = 0; p < phases; ++p, to += line) {
    const int s = g.stride[2], at = column + p;  // element j of the line is column at + j * s
    const int low = outside ? line : at < 0 ? min(line, (s - 1 - at) / s) : 0;
    const int high = outside || at >= g.in[2] ? low : max(low, min(line, (g.in[2] - 1 - at) / s + 1));
    for (int j = 0; j < low; ++j) to[j] = 0;
    if (s == 1) {
      for (int j = low; j < high; ++j) to[j] = GET_X(from, at + j);
    } else if (s == 2) {
      for (int j = low; j < high; ++j) to[j] = GET_X(from, at + 2 * j);
    } else {
      for (int j = low; j < high; ++j) to[j] = GET_X(from, at + s * j);
    }
    for (int j = high; j < line; ++j) to[j] = 0;
  }
}

// Columns in the first dimension, rows in the second, filters of all images in the third. Of the last columns a tile may compute some
// that the one before it has: whole vectors of them.
__kernel void depthwise(__global uchar* x_, ulong xo, __global uchar* w_, ulong wo, __global uchar* bias_, ulong biaso, __global uchar* y_,
                        ulong yo, Geometry g, int tile_rows, int tile_columns, int phases, int line EPILOGUE_PARAMETERS) {
  const int filter = get_global_id(2) % g.filters;
  const long plane = get_global_id(2) / g.filters * g.channels + filter / g.group_out;
  const int first_row = get_global_id(1) * tile_rows, rows = min(tile_rows, g.out[1] - first_row);
  const int first_column = min((int)get_global_id(0) * tile_columns, max(0, g.out[2] - COLUMNS));
  const int columns = min(tile_columns, g.out[2] - first_column);
  const int kept = phases * line;
  TX lines[LINES];
  // Rows are computed DOWN at a time: what those past the last one read is there, too.
  const int needed = ((rows + DOWN - 1) / DOWN * DOWN - 1) * g.stride[1] + (g.window[1] - 1) * g.dilation[1] + 1;
  for (int i = 0; i < needed; ++i) {
    keep_row(lines + i * kept, x_ + xo + plane * g.in[1] * g.in[2] * BYTES, first_row * g.stride[1] - g.pad[1] + i,
             first_column * g.stride[2] - g.pad[2], g, phases, line);
  }
  const TX bias = bias_ != 0 ? GET_X(bias_ + biaso, filter) : (TX)0;
  const long weights = (long)filter * g.window[1] * g.window[2];
  for (int r = 0; r < rows; r += DOWN) {
    for (int c = 0; c < columns; c += COLUMNS) {
      const int column = max(0, min(c, columns - COLUMNS));
      V sum[DOWN][VECTORS];
#pragma unroll
      for (int d = 0; d < DOWN; ++d) {
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) sum[d][v] = (V)bias;
      }
      const int step = g.stride[1] * kept;
      long tap = weights;
      for (int k1 = 0; k1 < g.window[1]; ++k1) {
        const TX* from = lines + (r * g.stride[1] + k1 * g.dilation[1]) * kept + column;
        for (int k2 = 0, phase = 0, shift = 0; k2 < g.window[2]; ++k2, ++tap) {
          const V weight = (V)GET_X(w_ + wo, tap);
          const TX* at = from + phase * line + shift;
#pragma unroll
          for (int d = 0; d < DOWN; ++d) {
#pragma unroll
            for (int v = 0; v < VECTORS; ++v) sum[d][v] += weight * LOAD(v, at + d * step);
          }
          for (phase += g.dilation[2]; phase >= g.stride[2]; phase -= g.stride[2]) ++shift;
        }
      }
      TX values[DOWN * COLUMNS];
#pragma unroll
      for (int d = 0; d < DOWN; ++d) {
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) STORE(sum[d][v], v, values + d * COLUMNS);
      }
      const int width = min(COLUMNS, columns), count = min(DOWN, rows - r);
      for (int d = 0; d < count; ++d) {
        const long at_y = ((long)get_global_id(2) * g.out[1] + first_row + r + d) * g.out[2] + first_column + column;
        if (width == COLUMNS) {
          // In loops of a constant length, which compilers turn into vectors: nothing is stored before all is loaded.
          TX results[COLUMNS];
          for (int j = 0; j < COLUMNS; ++j) results[j] = EPILOGUE(values[d * COLUMNS + j], at_y + j);
          for (int j = 0; j < COLUMNS; ++j) PUT_X(y_ + yo, at_y + j, results[j]);
        } else {
          for (int j = 0; j < width; ++j) PUT_X(y_ + yo, at_y + j, EPILOGUE(values[d * COLUMNS + j], at_y + j));
        }
      }
    }
  }
}
