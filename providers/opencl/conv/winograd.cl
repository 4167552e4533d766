// Convolutions of 3x3 windows, one step at a time, by Winograd's transform F(TILE x TILE, 3x3): products of transformed filters and
// transformed tiles of the image, for each of POINTS points, become TILE x TILE results of each tile.
//
// Processors: filters stand in blocks of ROWS, an item transforms TOGETHER neighbouring tiles, a panel, and the products of a block of
// filters and a panel of tiles (block.cl) go straight into results. GPUs: ROWS and TOGETHER are 1, and tile_gemm.cl multiplies.

#define IN (TILE + 2)
#define POINTS (IN * IN)

// An element of each of the tiles that an item works on.
#if TOGETHER == 1
#define L TX
#define LOAD_L(p) (*(p))
#define STORE_L(v, p) (*(p) = (v))
#else
// Sixteen floats: passed as a whole, compilers for AVX would warn of them.
#define L float16
#define LOAD_L(p) (float16)(vload8(0, p), vload8(1, p))
#define STORE_L(v, p) { const float16 whole = v; vstore8(whole.lo, 0, p); vstore8(whole.hi, 1, p); }
#endif

#define FORCED static inline __attribute__((always_inline))

// Where a tile is.
typedef struct { int image, row, column; } TilePosition;
FORCED TilePosition position_of_tile(int tile, Geometry g) {
  const int across = (g.out[2] + TILE - 1) / TILE, down = (g.out[1] + TILE - 1) / TILE;
  const TilePosition position = {tile / (across * down), tile / across % down, tile % across};
  return position;
}
FORCED TilePosition next_to(TilePosition position, Geometry g) {
  const int across = (g.out[2] + TILE - 1) / TILE, down = (g.out[1] + TILE - 1) / TILE;
  if (++position.column == across) {
    position.column = 0;
    if (++position.row == down) position.row = 0, ++position.image;
  }
  return position;
}

#ifdef KERNEL_transform_filters
// w[filters][channels][3][3] to y[blocks][POINTS][channels][ROWS]; rows past the last filter are zero. An item transforms one window.
__kernel void transform_filters(__global uchar* w_, ulong wo, __global uchar* y_, ulong yo, int filters, int channels) {
#if TILE == 4
  const TX g[IN][3] = {{R(0.25), 0, 0}, {-R(1.0) / 6, -R(1.0) / 6, -R(1.0) / 6}, {-R(1.0) / 6, R(1.0) / 6, -R(1.0) / 6},
                       {R(1.0) / 24, R(1.0) / 12, R(1.0) / 6}, {R(1.0) / 24, -R(1.0) / 12, R(1.0) / 6}, {0, 0, 1}};
#else
  const TX g[IN][3] = {{1, 0, 0}, {R(0.5), R(0.5), R(0.5)}, {R(0.5), -R(0.5), R(0.5)}, {0, 0, 1}};
#endif
  const int channel = get_global_id(0), filter = get_global_id(1);
  __global TX* y = (__global TX*)(y_ + yo) + ((long)(filter / ROWS) * POINTS * channels + channel) * ROWS + filter % ROWS;
  TX w[3][3], half_done[IN][3];
  for (int i = 0; i < 9; ++i) w[i / 3][i % 3] = filter < filters ? GET_X(w_ + wo, ((long)filter * channels + channel) * 9 + i) : (TX)0;
  for (int i = 0; i < IN; ++i) {
    for (int j = 0; j < 3; ++j) half_done[i][j] = g[i][0] * w[0][j] + g[i][1] * w[1][j] + g[i][2] * w[2][j];
  }
  for (int i = 0; i < IN; ++i) {
    for (int j = 0; j < IN; ++j) {
      y[(long)(i * IN + j) * channels * ROWS] = half_done[i][0] * g[j][0] + half_done[i][1] * g[j][1] + half_done[i][2] * g[j][2];
    }
  }
}
#endif

#ifdef KERNEL_transform_image
// A line of a tile's elements, `step` apart, to points.
FORCED void spread(const L* from, int step, L* to) {
  const L a = from[0], b = from[step], c = from[2 * step], d = from[3 * step];
#if TILE == 4
  const L e = from[4 * step], f = from[5 * step];
  const L even = e - R(4.0) * c, odd = d - R(4.0) * b, near = e - c, far = R(2.0) * (d - b);
  to[0] = R(4.0) * a - R(5.0) * c + e;
  to[step] = even + odd;
  to[2 * step] = even - odd;
  to[3 * step] = near + far;
  to[4 * step] = near - far;
  to[5 * step] = R(4.0) * b - R(5.0) * d + f;
#else
  to[0] = a - c;
  to[step] = b + c;
  to[2 * step] = c - b;
  to[3 * step] = b - d;
#endif
}

// Channels in the first dimension, tiles of all images from `first` on, TOGETHER at a time, in the second. To
// y[panels][POINTS][channels][TOGETHER] or, where TOGETHER is 1, to y[POINTS][channels][tiles].
#if TOGETHER == 1
__kernel void transform_image(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Geometry g, int tiles, int first) {
  const int channel = get_global_id(1), batch = get_global_id(0);
  if (batch >= total) return;
#else
__kernel void transform_image(__global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Geometry g, int tiles, int first) {
  const int channel = get_global_id(0), batch = get_global_id(1);
#endif
  const int start = first + batch * TOGETHER;
  TX patch[POINTS * TOGETHER];
  TilePosition position = position_of_tile(start, g);
  for (int lane = 0; lane < TOGETHER; ++lane, position = next_to(position, g)) {
    const int i1 = position.row * TILE - g.pad[1], i2 = position.column * TILE - g.pad[2];
    __global const uchar* plane = x_ + xo + ((long)position.image * g.channels + channel) * g.in[1] * g.in[2] * BYTES;
    if (start + lane < tiles && i1 >= 0 && i2 >= 0 && i1 + IN <= g.in[1] && i2 + IN <= g.in[2]) {
#pragma unroll
      for (int r = 0; r < IN; ++r) {
#pragma unroll
        for (int c = 0; c < IN; ++c) patch[(r * IN + c) * TOGETHER + lane] = GET_X(plane, (long)(i1 + r) * g.in[2] + i2 + c);
      }
    } else {
#pragma unroll
      for (int r = 0; r < IN; ++r) {
        const bool inside = start + lane < tiles && (uint)(i1 + r) < (uint)g.in[1];
        const long row = (long)(i1 + r) * g.in[2];
#pragma unroll
        for (int c = 0; c < IN; ++c) {
          TX value = 0;
          if (inside && (uint)(i2 + c) < (uint)g.in[2]) value = GET_X(plane, row + i2 + c);
          patch[(r * IN + c) * TOGETHER + lane] = value;
        }
      }
    }
  }
  L half_done[POINTS], done[POINTS];
#pragma unroll
  for (int i = 0; i < POINTS; ++i) done[i] = LOAD_L(patch + i * TOGETHER);
#pragma unroll
  for (int c = 0; c < IN; ++c) spread(done + c, IN, half_done + c);
#pragma unroll
  for (int r = 0; r < IN; ++r) spread(half_done + r * IN, 1, done + r * IN);
#if TOGETHER == 1
  __global TX* y = (__global TX*)(y_ + yo) + (long)channel * total + batch;
  const long step = (long)g.channels * total;
#else
  __global TX* y = (__global TX*)(y_ + yo) + ((long)batch * POINTS * g.channels + channel) * TOGETHER;
  const long step = (long)g.channels * TOGETHER;
#endif
#pragma unroll
  for (int i = 0; i < POINTS; ++i) STORE_L(done[i], y + i * step);
}
#endif

#if defined(KERNEL_multiply) || defined(KERNEL_finish)
// A line of points, `step` apart, to results, `to_step` apart.
FORCED void gather(const L* from, int step, L* to, int to_step) {
  const L a = from[0], b = from[step], c = from[2 * step], d = from[3 * step];
#if TILE == 4
  const L e = from[4 * step], f = from[5 * step];
  const L near = b + c, far = d + e, turn = b - c, swing = d - e;
  to[0] = a + near + far;
  to[to_step] = turn + R(2.0) * swing;
  to[2 * to_step] = near + R(4.0) * far;
  to[3 * to_step] = turn + R(8.0) * swing + f;
#else
  to[0] = a + b + c;
  to[to_step] = b - c - d;
#endif
}

// The products of one filter and TOGETHER tiles from `start` on, with bias and what follows, to where they belong.
FORCED void finish_tiles(const L* points, TX bias, int filter, int start, __global uchar* y, Geometry g, int tiles EPILOGUE_PARAMETERS) {
  L half_done[TILE * IN], done[TILE * TILE];
  TX values[TILE * TILE * TOGETHER];
#pragma unroll
  for (int c = 0; c < IN; ++c) gather(points + c, IN, half_done + c, IN);
#pragma unroll
  for (int r = 0; r < TILE; ++r) gather(half_done + r * IN, 1, done + r * TILE, 1);
#pragma unroll
  for (int i = 0; i < TILE * TILE; ++i) STORE_L(done[i] + bias, values + i * TOGETHER);
  TilePosition position = position_of_tile(start, g);
  const int count = min(TOGETHER, tiles - start);
  for (int lane = 0; lane < count; ++lane, position = next_to(position, g)) {
    const int o1 = position.row * TILE, o2 = position.column * TILE, rows = min(TILE, g.out[1] - o1), columns = min(TILE, g.out[2] - o2);
    const long at = (((long)position.image * g.filters + filter) * g.out[1] + o1) * g.out[2] + o2;
    for (int r = 0; r < rows; ++r) {
      const long row = at + (long)r * g.out[2];
      if (columns == TILE) {
        TX results[TILE];
        for (int c = 0; c < TILE; ++c) results[c] = EPILOGUE(values[(r * TILE + c) * TOGETHER + lane], row + c);
        for (int c = 0; c < TILE; ++c) PUT_X(y, row + c, results[c]);
      } else {
        for (int c = 0; c < columns; ++c) PUT_X(y, row + c, EPILOGUE(values[(r * TILE + c) * TOGETHER + lane], row + c));
      }
    }
  }
}
#endif

#ifdef KERNEL_multiply
// Blocks of filters in the first dimension, panels of tiles in the second.
__kernel void multiply(__global uchar* a_, ulong ao, __global uchar* b_, ulong bo, __global uchar* bias_, ulong biaso,
                       __global uchar* y_, ulong yo, Geometry g, int tiles, int first EPILOGUE_PARAMETERS) {
  const int first_row = get_global_id(0) * ROWS;
  Rows rows = {(__global const TX*)(a_ + ao) + get_global_id(0) * POINTS * g.channels * ROWS};
  __global const TX* b = (__global const TX*)(b_ + bo) + get_global_id(1) * POINTS * g.channels * COLUMNS;
  L points[ROWS][POINTS];
  for (int point = 0; point < POINTS; ++point, rows.at += (long)g.channels * ROWS, b += (long)g.channels * COLUMNS) {
    V sum[ROWS][VECTORS];
    clear_block(sum);
    MULTIPLY_ADD(sum, rows, b, COLUMNS, g.channels)
    store_block(sum, (TX*)&points[0][point], POINTS * COLUMNS);
  }
  const int count = min(ROWS, g.filters - first_row);
  for (int r = 0; r < count; ++r) {
    const TX bias = bias_ != 0 ? GET_X(bias_ + biaso, first_row + r) : (TX)0;
    finish_tiles(points[r], bias, first_row + r, first + get_global_id(1) * COLUMNS, y_ + yo, g, tiles EPILOGUE_ARGUMENTS);
  }
}
#endif

#ifdef KERNEL_finish
// Tiles in the first dimension, filters in the second; p[POINTS][filters][tiles].
__kernel void finish(ulong total, __global uchar* p_, ulong po, __global uchar* bias_, ulong biaso, __global uchar* y_, ulong yo, Geometry g,
                     int tiles, int first EPILOGUE_PARAMETERS) {
  const int tile = get_global_id(0), filter = get_global_id(1);
  if (tile >= total) return;
  const long step = (long)g.filters * total;
  __global const TX* from = (__global const TX*)(p_ + po) + (long)filter * total + tile;
  L points[POINTS];
#pragma unroll
  for (int i = 0; i < POINTS; ++i) points[i] = from[i * step];
  const TX bias = bias_ != 0 ? GET_X(bias_ + biaso, filter) : (TX)0;
  finish_tiles(points, bias, filter, first + tile, y_ + yo, g, tiles EPILOGUE_ARGUMENTS);
}
#endif
