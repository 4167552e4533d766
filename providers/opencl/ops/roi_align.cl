// Bins of regions of interest. One work item computes one bin of one channel.
typedef struct { long channels, height, width, out_height, out_width; int maximum; } Regions;

// Where sample i of a bin lies along an axis, between two positions; 0: outside.
static inline int sample(TX base, TX step, long i, long size, long* low, long* high, TX* fraction) {
  TX x = base + ((TX)i + R(0.5)) * step;
  if (!(x >= -1 && x <= (TX)size)) return 0;
  x = fmax(x, (TX)0);
  *low = (long)x;
  *high = *low + 1;
  if (*low >= size - 1) {
    *low = *high = size - 1;
    x = (TX)*low;
  }
  *fraction = x - (TX)*low;
  return 1;
}

// No other samples than these can be inside: a region may be far larger than the image.
static inline void inside(TX base, TX step, long count, long size, long* first, long* last) {
  *first = 0;
  *last = count - 1;
  if (step == 0) return;
  const TX a = (-1 - base) / step, b = ((TX)size - base) / step, low = fmin(a, b) - 2, high = fmax(a, b) + 1;
  if (low > 0) *first = low < (TX)count ? (long)low : count;
  if (high < (TX)*last) *last = high < 0 ? -1 : (long)high;
}

// Of each region the places are where it starts and the size of a bin, along rows then columns; the counts are its image and how many
// samples a bin has along rows and columns.
__kernel void roi_align(ulong total, __global uchar* x_, ulong xo, __global uchar* axis_bins_, ulong po, __global uchar* counts_, ulong co,
                        __global uchar* y_, ulong yo, Regions r) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long column = (long)i % r.out_width, row = (long)i / r.out_width % r.out_height, plane = (long)i / r.out_width / r.out_height;
  const long region = plane / r.channels, channel = plane % r.channels;
  __global const TX* bin_of_axis = AT(const TX, axis_bins_, po) + 4 * region;
  __global const long* count = AT(const long, counts_, co) + 3 * region;
  const TX base_y = bin_of_axis[0] + (TX)row * bin_of_axis[1], step_y = bin_of_axis[1] / (TX)max(count[1], 1L);
  const TX base_x = bin_of_axis[2] + (TX)column * bin_of_axis[3], step_x = bin_of_axis[3] / (TX)max(count[2], 1L);
  const long first = (count[0] * r.channels + channel) * r.height * r.width;
  long y0, y1, x0, x1, seen = 0;
  inside(base_y, step_y, count[1], r.height, &y0, &y1);
  inside(base_x, step_x, count[2], r.width, &x0, &x1);
  TX sum = 0, most = -INFINITY;
  for (long iy = y0; iy <= y1; ++iy) {
    long low_y, high_y;
    TX fy;
    if (!sample(base_y, step_y, iy, r.height, &low_y, &high_y, &fy)) continue;
    const long low = first + low_y * r.width, high = first + high_y * r.width;
    for (long ix = x0; ix <= x1; ++ix) {
      long low_x, high_x;
      TX fx;
      if (!sample(base_x, step_x, ix, r.width, &low_x, &high_x, &fx)) continue;
      const TX a = (1 - fy) * (1 - fx) * GET_X(x_ + xo, low + low_x), b = (1 - fy) * fx * GET_X(x_ + xo, low + high_x);
      const TX c = fy * (1 - fx) * GET_X(x_ + xo, high + low_x), d = fy * fx * GET_X(x_ + xo, high + high_x);
      sum += a + b + c + d;
      const TX above = MAX_OR_NAN(a, b), below = MAX_OR_NAN(c, d), all = MAX_OR_NAN(above, below);
      most = MAX_OR_NAN(most, all);
      ++seen;
    }
  }
  const TX samples = (TX)count[1] * (TX)count[2];
  if ((TX)seen < samples || seen == 0) most = MAX_OR_NAN(most, (TX)0);  // those outside are zeros
  PUT_X(y_ + yo, i, r.maximum ? most : sum / fmax(samples, (TX)1));
}
