// What matmuls and convolutions of bytes need besides panel_gemm.cl and tile_gemm.cl, which multiply integers of 16 bits: quantized
// values less their zero points, in the forms that these kernels read; convolutions of few channels.
//
// P: a quantized value's operand and its zero points. Pairs are two neighbours along k: two rows of a matrix, two channels of an image.
static inline int pair_of(int first, int second) { return (int)(((uint)second << 16) | ((uint)first & 0xffffu)); }
static inline int zero_of(__global const uchar* zeros, long i) { return zeros != 0 ? (int)GET_P(zeros, i) : 0; }

#ifdef KERNEL_center
// Zero points are those of a channel each, `inner` elements of one after the other, or (step 0) one for all.
__kernel void center(ulong total, __global uchar* x_, ulong xo, __global uchar* zero_, ulong zo, __global uchar* y_, ulong yo, long inner, long channels,
                     int step) {
  const long i = get_global_id(0);
  if ((ulong)i >= total) return;
  const int zero = zero_of(zero_ == 0 ? 0 : zero_ + zo, step == 0 ? 0 : i / inner % channels);
  AT(short, y_, yo)[i] = (short)((int)GET_P(x_ + xo, i) - zero);
}
#endif

#ifdef KERNEL_pack_quads
// Four neighbouring channels in an int, `inner` elements of each, as signed bytes: quantized values without a sign less 128.
__kernel void pack_quads(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, long inner, long channels) {
  const long i = get_global_id(0);
  if ((ulong)i >= total) return;
  const long quads = (channels + 3) / 4, channel = i / inner % quads * 4;
  const long from = (i / inner / quads * channels + channel) * inner + i % inner;
  uint quad = 0;
  for (int c = 0; c < 4 && channel + c < channels; ++c) quad |= (uint)(uchar)GET_P(x_ + xo, from + c * inner) << (c * 8);
  AT(uint, y_, yo)[i] = (TP)(-1) < 0 ? quad : quad ^ 0x80808080u;
}
#endif

#ifdef KERNEL_pack_rows
// A[m, channels, taps] to blocks of ROWS rows, pair after pair of channels of each, a stack of them in the third dimension. An item packs
// PACK_ROWS pairs of a block. Zero points: `step` from row to row.
__kernel void pack_rows(__global uchar* a_, ulong ao, __global uchar* zero_, ulong zo, __global uchar* y_, ulong yo, int m, int channels, int taps,
                        int step) {
  const int pairs = (channels + 1) / 2 * taps, first_row = get_global_id(1) * ROWS, first = get_global_id(0) * PACK_ROWS, end = min(first + PACK_ROWS, pairs);
  const long blocks = (m - 1) / ROWS + 1;
  __global int* to = AT(int, y_, yo) + (get_global_id(2) * blocks + get_global_id(1)) * pairs * ROWS;
  for (int r = 0; r < ROWS; ++r) {
    const long row = get_global_id(2) * m + first_row + r;
    const int inside = first_row + r < m, zero = inside ? zero_of(zero_ == 0 ? 0 : zero_ + zo, row * step) : 0;
    const long from = row * channels * taps;
    for (int i = first; i < end; ++i) {
      const int channel = i / taps * 2, tap = i % taps;
      const long at = from + (long)channel * taps + tap;
      const int low = inside ? (int)GET_P(a_ + ao, at) - zero : 0, high = inside && channel + 1 < channels ? (int)GET_P(a_ + ao, at + taps) - zero : 0;
      to[(long)i * ROWS + r] = pair_of(low, high);
    }
  }
}
#endif

#ifdef KERNEL_pack_matrix
// B[k, n] to panels, pair after pair of rows of each, a stack of them in the third dimension. An item packs PACK_ROWS pairs of a panel.
__kernel void pack_matrix(__global uchar* b_, ulong bo, __global uchar* zero_, ulong zo, __global uchar* y_, ulong yo, int k, int n, int step) {
  const int pairs = (k + 1) / 2, column = get_global_id(1) * COLUMNS, width = min(COLUMNS, n - column);
  const int first = get_global_id(0) * PACK_ROWS, end = min(first + PACK_ROWS, pairs);
  const long panels = (n - 1) / COLUMNS + 1;
  __global int* to = AT(int, y_, yo) + ((get_global_id(2) * panels + get_global_id(1)) * pairs + first) * COLUMNS;
  int zero[COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) zero[j] = zero_of(zero_ == 0 ? 0 : zero_ + zo, (long)min(column + j, n - 1) * step);
  for (int i = first; i < end; ++i, to += COLUMNS) {
    __global const uchar* low = b_ + bo + (get_global_id(2) * k + i * 2) * (long)n + column;
    const int both = i * 2 + 1 < k;
    if (width == COLUMNS && both) {
      int row[COLUMNS];
      for (int j = 0; j < COLUMNS; ++j) row[j] = pair_of((int)GET_P(low, j) - zero[j], (int)GET_P(low, n + j) - zero[j]);
      for (int j = 0; j < COLUMNS; ++j) to[j] = row[j];
    } else {
      for (int j = 0; j < COLUMNS; ++j) {
        to[j] = j < width ? pair_of((int)GET_P(low, j) - zero[j], both ? (int)GET_P(low, n + j) - zero[j] : 0) : 0;
      }
    }
  }
}
#endif

// Of an image with all that windows read around it.
#define PADDED(g, axis) ((g.out[axis] - 1) * g.stride[axis] + (g.window[axis] - 1) * g.dilation[axis] + 1)

#ifdef KERNEL_pair_planes
// Pairs of channels of a group, planes of padded images `plane` elements apart. An item makes a row; pairs of all groups in the second
// dimension, images in the third. Where the last pair has one channel, its filters have 0 for the other, which may be anything.
__kernel void pair_planes(__global uchar* x_, ulong xo, __global uchar* zero_, ulong zo, __global uchar* y_, ulong yo, Geometry g, long plane) {
  const int width = PADDED(g, 2), pairs = (g.group_in + 1) / 2, channel = get_global_id(1) / pairs * g.group_in + get_global_id(1) % pairs * 2;
  const int i0 = (int)get_global_id(0) / PADDED(g, 1) - g.pad[0], i1 = (int)get_global_id(0) % PADDED(g, 1) - g.pad[1];
  const int zero = zero_of(zero_ == 0 ? 0 : zero_ + zo, 0), first = min(g.pad[2], width);
  const int end = i0 < 0 || i0 >= g.in[0] || i1 < 0 || i1 >= g.in[1] ? first : min(width, g.pad[2] + g.in[2]);
  const long size = (long)g.in[0] * g.in[1] * g.in[2];
  __global const uchar* low = x_ + xo + (get_global_id(2) * g.channels + channel) * size + ((long)i0 * g.in[1] + i1) * g.in[2];
  __global const uchar* high = get_global_id(1) % pairs * 2 + 1 < g.group_in ? low + size : low;
  const long planes = (long)(g.channels / g.group_in) * pairs;
  __global int* to = AT(int, y_, yo) + (get_global_id(2) * planes + get_global_id(1)) * plane + get_global_id(0) * width;
  for (int j = 0; j < first; ++j) to[j] = 0;
  for (int j = first; j < end; ++j) to[j] = pair_of((int)GET_P(low, j - g.pad[2]) - zero, (int)GET_P(high, j - g.pad[2]) - zero);
  for (int j = end; j < width; ++j) to[j] = 0;
}
#endif

#ifdef KERNEL_pack_windows
// The windows of COLUMNS output positions as rows of a panel, one for each tap of a pair of channels; PLANES pairs an item, groups in the
// third dimension. Columns after the last position are like it. `here`: how many panels of a group are made.
__kernel void pack_windows(__global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Geometry g, int panels, int first, long here, long plane) {
  const int panel = first + get_global_id(1), image = panel / panels, pairs = (g.group_in + 1) / 2, first_pair = get_global_id(0) * PLANES;
  const int positions = g.out[0] * g.out[1] * g.out[2], start = panel % panels * COLUMNS, taps = g.window[0] * g.window[1] * g.window[2];
  const int height = PADDED(g, 1), width = PADDED(g, 2);
  const long groups = g.channels / g.group_in;
  int at[COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) {
    const int o = min(start + j, positions - 1), output_row = o / g.out[2];
    at[j] = (output_row / g.out[1] * g.stride[0] * height + output_row % g.out[1] * g.stride[1]) * width + o % g.out[2] * g.stride[2];
  }
  const int neighbours = start + COLUMNS <= positions && at[COLUMNS - 1] == at[0] + COLUMNS - 1;  // each is past the one before
  __global const int* from = AT(const int, x_, xo) + ((image * groups + get_global_id(2)) * pairs + first_pair) * plane;
  __global int* to = AT(int, y_, yo) + ((get_global_id(2) * here + get_global_id(1)) * pairs + first_pair) * taps * COLUMNS;
  for (int pair = first_pair; pair < min(first_pair + PLANES, pairs); ++pair, from += plane) {
    for (int k0 = 0; k0 < g.window[0]; ++k0) {
      for (int k1 = 0; k1 < g.window[1]; ++k1) {
        __global const int* row = from + ((long)k0 * g.dilation[0] * height + k1 * g.dilation[1]) * width;
        for (int k2 = 0; k2 < g.window[2]; ++k2, to += COLUMNS, row += g.dilation[2]) {
          if (neighbours) {
            vstore16(vload16(0, row + at[0]), 0, to);
          } else {
            int window[COLUMNS];
            for (int j = 0; j < COLUMNS; ++j) window[j] = row[at[j]];
            for (int j = 0; j < COLUMNS; ++j) to[j] = window[j];
          }
        }
      }
    }
  }
}
#endif

#define CONVOLUTION_PARAMETERS                                                                                                \
  __global uchar* a_, ulong ao, __global uchar* a_zero_, ulong azo, __global uchar* b_, ulong bo, __global uchar* b_zero_, ulong bzo, \
      __global uchar* y_, ulong yo, int zero_step, int scale_step, Geometry g EPILOGUE_PARAMETERS

#ifdef KERNEL_depthwise
#undef SCALE_STEP
#define SCALE_STEP scale_step
// One channel a group, two spatial dimensions: an item computes COLUMNS positions of a row. Rows in the second dimension, channels of all
// images in the third.
__kernel void depthwise(CONVOLUTION_PARAMETERS) {
  const int o2 = get_global_id(0) * COLUMNS, o1 = get_global_id(1), count = min(COLUMNS, g.out[2] - o2);
  const int filter = get_global_id(2) % g.filters, taps = g.window[1] * g.window[2];
  const long plane = get_global_id(2) / g.filters * g.channels + filter / g.group_out, at_bias = 0;
  const int a_zero = a_zero_ != 0 ? (int)GET_A(a_zero_ + azo, 0) : 0, b_zero = b_zero_ != 0 ? (int)GET_B(b_zero_ + bzo, filter * zero_step) : 0;
  int sum[COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) sum[j] = 0;
  for (int k1 = 0; k1 < g.window[1]; ++k1) {
    const int i1 = o1 * g.stride[1] + k1 * g.dilation[1] - g.pad[1];
    if (i1 < 0 || i1 >= g.in[1]) continue;
    const long row = (plane * g.in[1] + i1) * g.in[2];
    for (int k2 = 0; k2 < g.window[2]; ++k2) {
      const int weight = (int)GET_B(b_ + bo, (long)filter * taps + k1 * g.window[2] + k2) - b_zero;
      const int i2 = o2 * g.stride[2] + k2 * g.dilation[2] - g.pad[2];
      if (i2 >= 0 && i2 + (COLUMNS - 1) * g.stride[2] < g.in[2]) {
        for (int j = 0; j < COLUMNS; ++j) sum[j] += weight * ((int)GET_A(a_ + ao, row + i2 + j * g.stride[2]) - a_zero);
      } else if (g.stride[2] == 1) {
        for (int j = 0; j < COLUMNS; ++j) {  // a vector's elements that are inside
          if (i2 + j >= 0 && i2 + j < g.in[2]) sum[j] += weight * ((int)GET_A(a_ + ao, row + i2 + j) - a_zero);
        }
      } else {
        for (int j = 0; j < count; ++j) {
          const int at = i2 + j * g.stride[2];
          if (at >= 0 && at < g.in[2]) sum[j] += weight * ((int)GET_A(a_ + ao, row + at) - a_zero);
        }
      }
    }
  }
  const long at_y = ((long)get_global_id(2) * g.out[1] + o1) * g.out[2] + o2;
  TR results[COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) results[j] = RESULT(sum[j], at_y + j, filter, o2 + j);
  for (int j = 0; j < count; ++j) PUT_R(y_ + yo, at_y + j, results[j]);
}
#endif

#ifdef KERNEL_convolve
#undef SCALE_STEP
#define SCALE_STEP scale_step
// One work item computes PER output channels of one position. Padding is A's zero point: it adds nothing.
__kernel void convolve(ulong total, CONVOLUTION_PARAMETERS) {
  const long position = get_global_id(0);
  if ((ulong)position >= total) return;
  const long in_size = (long)g.in[0] * g.in[1] * g.in[2], out_size = (long)g.out[0] * g.out[1] * g.out[2];
  const long taps = (long)g.window[0] * g.window[1] * g.window[2];
  const int blocks = (g.group_out + PER - 1) / PER;
  const int group = get_global_id(1) / blocks, first = (get_global_id(1) % blocks) * PER, base = group * g.group_out;
  const long batch = get_global_id(2), at_bias = 0;
  const int o0 = position / ((long)g.out[1] * g.out[2]), o1 = position / g.out[2] % g.out[1], o2 = position % g.out[2];
  const int a_zero = a_zero_ != 0 ? (int)GET_A(a_zero_ + azo, 0) : 0;
  int sum[PER], zero[PER];
  for (int p = 0; p < PER; ++p) {
    const long filter = base + min(first + p, g.group_out - 1);
    sum[p] = 0;
    zero[p] = b_zero_ != 0 ? (int)GET_B(b_zero_ + bzo, filter * zero_step) : 0;
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
    const long filter = base + first + p, at = (batch * g.filters + filter) * out_size + position;
    PUT_R(y_ + yo, at, RESULT(sum[p], at, filter, position));
  }
}
#endif
