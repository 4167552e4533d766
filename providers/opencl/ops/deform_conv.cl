// Convolution that samples its image at offsets, bilinearly, zeros outside. One work item computes PER filters of a group at one position.
typedef struct { long image, planes; int taps, offset_groups; } Deform;  // elements of an image and of a result's plane

static inline TX at(__global const uchar* x, long plane, long y, long column, Geometry g) {
  return y >= 0 && y < g.in[1] && column >= 0 && column < g.in[2] ? GET_X(x, plane + y * g.in[2] + column) : (TX)0;
}

static inline TX sample(__global const uchar* x, long plane, TX y, TX column, Geometry g) {
  if (!(y > -1 && y < (TX)g.in[1] && column > -1 && column < (TX)g.in[2])) return 0;
  const TX top = floor(y), left = floor(column), dy = y - top, dx = column - left;
  const long y0 = (long)top, x0 = (long)left;
  return (1 - dy) * ((1 - dx) * at(x, plane, y0, x0, g) + dx * at(x, plane, y0, x0 + 1, g)) +
         dy * ((1 - dx) * at(x, plane, y0 + 1, x0, g) + dx * at(x, plane, y0 + 1, x0 + 1, g));
}

__kernel void deform_conv(ulong positions, __global uchar* x_, ulong xo, __global uchar* w_, ulong wo, __global uchar* offset_, ulong oo,
                          __global uchar* bias_, ulong bo, __global uchar* mask_, ulong mo, __global uchar* y_, ulong yo, Geometry g, Deform d) {
  const long p = get_global_id(0), n = get_global_id(2), blocks = (g.group_out + PER - 1) / PER;
  if (p >= (long)positions) return;
  const long group = get_global_id(1) / blocks, first = get_global_id(1) % blocks * PER;
  const long row = p / g.out[2] * g.stride[1] - g.pad[1], column = p % g.out[2] * g.stride[2] - g.pad[2];
  TX acc[PER];
  for (int j = 0; j < PER; ++j) acc[j] = 0;
  for (int c = 0; c < g.group_in; ++c) {
    const long channel = group * g.group_in + c, plane = (n * g.channels + channel) * d.image;
    const long first_tap = (n * d.offset_groups + channel / (g.channels / d.offset_groups)) * d.taps;
    for (int k = 0; k < d.taps; ++k) {
      const TX dy = GET_X(offset_ + oo, (first_tap + k) * 2 * d.planes + p), dx = GET_X(offset_ + oo, ((first_tap + k) * 2 + 1) * d.planes + p);
      const TX y = (TX)(row + k / g.window[2] * g.dilation[1]) + dy, x = (TX)(column + k % g.window[2] * g.dilation[2]) + dx;
      TX value = sample(x_ + xo, plane, y, x, g);
      if (mask_ != 0) value *= GET_X(mask_ + mo, (first_tap + k) * d.planes + p);
      for (int j = 0; j < PER && first + j < g.group_out; ++j) {
        acc[j] += value * GET_X(w_ + wo, ((group * g.group_out + first + j) * g.group_in + c) * d.taps + k);
      }
    }
  }
  for (int j = 0; j < PER && first + j < g.group_out; ++j) {
    const long filter = group * g.group_out + first + j;
    PUT_X(y_ + yo, (n * g.filters + filter) * d.planes + p, acc[j] + (bias_ != 0 ? GET_X(bias_ + bo, filter) : (TX)0));
  }
}
