// Convolution by few filters: of each channel by those of its own, or of a group of channels by few, of images of one and two
// dimensions, for processors. An item computes a tile of planes: what the tile's windows read is copied first, with zeros for what lies
// outside of the image, and every stride[2]-th column next to each other, so that each tap adds whole vectors. Stands after block.cl.

// Row `row` of a plane from column `column` on, as PHASES rows of `row_length` elements.
INLINE void keep_row(TX* to, __global const uchar* plane, int row, int column, Geometry g, int phases, int row_length) {
  const bool outside = row < 0 || row >= g.in[1];
  __global const uchar* from = plane + (long)row * g.in[2] * BYTES;
  for (int p = 0; p < phases; ++p, to += row_length) {
    const int s = g.stride[2], at = column + p;  // element j of the line is column at + j * s
    const int low = outside ? row_length : at < 0 ? min(row_length, (s - 1 - at) / s) : 0;
    const int high = outside || at >= g.in[2] ? low : max(low, min(row_length, (g.in[2] - 1 - at) / s + 1));
    for (int j = 0; j < low; ++j) to[j] = 0;
    if (s == 1) {
      for (int j = low; j < high; ++j) to[j] = GET_X(from, at + j);
    } else if (s == 2) {
      for (int j = low; j < high; ++j) to[j] = GET_X(from, at + 2 * j);
    } else {
      for (int j = low; j < high; ++j) to[j] = GET_X(from, at + s * j);
    }
    for (int j = high; j < row_length; ++j) to[j] = 0;
  }
}

// The tile of this item. Of the last columns it may compute some that the one before it has: whole vectors of them.
#define TILE                                                                                                                     \
  const int first_row = get_global_id(1) * tile_rows, rows = min(tile_rows, g.out[1] - first_row);                               \
  const int first_column = min((int)get_global_id(0) * tile_columns, max(0, g.out[2] - COLUMNS));                                \
  const int columns = min(tile_columns, g.out[2] - first_column), kept = phases * row_length;                                          \
  TX kept_rows[KEPT];

// What it reads of a plane. Rows are computed DOWN at a time: what those past the last one read is there, too.
#define KEEP(plane)                                                                                                              \
  {                                                                                                                              \
    const int needed = ((rows + DOWN - 1) / DOWN * DOWN - 1) * g.stride[1] + (g.window[1] - 1) * g.dilation[1] + 1;              \
    for (int i = 0; i < needed; ++i) {                                                                                           \
      keep_row(kept_rows + i * kept, x_ + xo + (plane) * g.in[1] * g.in[2] * BYTES, first_row * g.stride[1] - g.pad[1] + i,          \
               first_column * g.stride[2] - g.pad[2], g, phases, row_length);                                                          \
    }                                                                                                                            \
  }
#define EACH_BLOCK                                   \
  for (int r = 0; r < rows; r += DOWN)               \
    for (int c = 0, column = 0; c < columns; c += COLUMNS, column = max(0, min(c, columns - COLUMNS)))

// Adds what the taps of a filter, from `tap` on, make of DOWN x COLUMNS positions from row r on.
INLINE void add_taps(V sum[DOWN][VECTORS], const TX* kept_rows, __global const uchar* w, long tap, int r, int column, Geometry g, int kept, int row_length) {
  const int step = g.stride[1] * kept;
  for (int k1 = 0; k1 < g.window[1]; ++k1) {
    const TX* from = kept_rows + (r * g.stride[1] + k1 * g.dilation[1]) * kept + column;
    for (int k2 = 0, phase = 0, shift = 0; k2 < g.window[2]; ++k2, ++tap) {
      const V weight = (V)GET_X(w, tap);
      const TX* at = from + phase * row_length + shift;
#pragma unroll
      for (int d = 0; d < DOWN; ++d) {
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) sum[d][v] += weight * LOAD(v, at + d * step);
      }
      for (phase += g.dilation[2]; phase >= g.stride[2]; phase -= g.stride[2]) ++shift;
    }
  }
}

// `count` rows of `width` results, the first at `at`.
INLINE void finish_block(V sum[DOWN][VECTORS], long at, int row_step, int count, int width, __global uchar* y EPILOGUE_PARAMETERS) {
  TX values[DOWN * COLUMNS];
#pragma unroll
  for (int d = 0; d < DOWN; ++d) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) STORE(sum[d][v], v, values + d * COLUMNS);
  }
  for (int d = 0; d < count; ++d, at += row_step) {
    if (width == COLUMNS) {
      // In loops of a constant length, which compilers turn into vectors: nothing is stored before all is loaded.
      TX results[COLUMNS];
      for (int j = 0; j < COLUMNS; ++j) results[j] = EPILOGUE(values[d * COLUMNS + j], at + j);
      for (int j = 0; j < COLUMNS; ++j) PUT_X(y, at + j, results[j]);
    } else {
      for (int j = 0; j < width; ++j) PUT_X(y, at + j, EPILOGUE(values[d * COLUMNS + j], at + j));
    }
  }
}

#define ARGUMENTS                                                                                                                          \
  __global uchar *x_, ulong xo, __global uchar *w_, ulong wo, __global uchar *bias_, ulong biaso, __global uchar *y_, ulong yo, Geometry g, \
      int tile_rows, int tile_columns, int phases, int row_length EPILOGUE_PARAMETERS

#ifdef KERNEL_depthwise
// Columns in the first dimension, rows in the second, filters of all images in the third.
__kernel void depthwise(ARGUMENTS) {
  const int filter = get_global_id(2) % g.filters;
  const long plane = get_global_id(2) / g.filters * g.channels + filter / g.group_out;
  TILE
  KEEP(plane)
  const TX bias = bias_ != 0 ? GET_X(bias_ + biaso, filter) : (TX)0;
  EACH_BLOCK {
    V sum[DOWN][VECTORS];
    for (int d = 0; d < DOWN; ++d) {
      for (int v = 0; v < VECTORS; ++v) sum[d][v] = (V)bias;
    }
    add_taps(sum, kept_rows, w_ + wo, (long)filter * g.window[1] * g.window[2], r, column, g, kept, row_length);
    const long at_y = ((long)get_global_id(2) * g.out[1] + first_row + r) * g.out[2] + first_column + column;
    finish_block(sum, at_y, g.out[2], min(DOWN, rows - r), min(COLUMNS, columns), y_ + yo EPILOGUE_ARGUMENTS);
  }
}
#endif

#ifdef KERNEL_few_filters
// The same with groups of all images in the third dimension: an item has all filters of a group, at most ACCUMULATORS accumulators.
__kernel void few_filters(ARGUMENTS) {
  const long groups = g.channels / g.group_in, group = get_global_id(2) % groups, image = get_global_id(2) / groups;
  const int taps = g.window[1] * g.window[2];
  TILE
  const int block = DOWN * COLUMNS, blocks = (rows + DOWN - 1) / DOWN * ((columns + COLUMNS - 1) / COLUMNS);
  TX acc[ACCUMULATORS];
  for (int f = 0; f < g.group_out; ++f) {
    const TX bias = bias_ != 0 ? GET_X(bias_ + biaso, group * g.group_out + f) : (TX)0;
    for (int i = 0; i < blocks * block; ++i) acc[f * blocks * block + i] = bias;
  }
  for (int channel = 0; channel < g.group_in; ++channel) {
    KEEP(image * g.channels + group * g.group_in + channel)
    TX* at = acc;
    for (int f = 0; f < g.group_out; ++f) {
      const long tap = ((group * g.group_out + f) * g.group_in + channel) * taps;
      EACH_BLOCK {
        V sum[DOWN][VECTORS];
        load_block(sum, at, COLUMNS);
        add_taps(sum, kept_rows, w_ + wo, tap, r, column, g, kept, row_length);
        store_block(sum, at, COLUMNS);
        at += block;
      }
    }
  }
  const TX* at = acc;
  for (int f = 0; f < g.group_out; ++f) {
    const long plane = (image * g.filters + group * g.group_out + f) * g.out[1];
    EACH_BLOCK {
      V sum[DOWN][VECTORS];
      load_block(sum, at, COLUMNS);
      at += block;
      finish_block(sum, (plane + first_row + r) * g.out[2] + first_column + column, g.out[2], min(DOWN, rows - r), min(COLUMNS, columns), y_ + yo EPILOGUE_ARGUMENTS);
    }
  }
}
#endif
