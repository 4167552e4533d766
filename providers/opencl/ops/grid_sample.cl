// Samples of an image at points of a grid, up to three spatial dimensions. One work item computes one output element.
typedef struct { long in[3], channels, points; int rank, mode, padding, align_corners; } Sampling;  // missing dimensions come last

static inline TX reflected(TX x, TX low, TX high) {
  const TX range = high - low;
  if (x >= low && x <= high) return x;
  if (!(range > 0)) return low;
  const TX distance = fmod(x < low ? low - x : x - high, 2 * range);
  const TX back = distance < range ? distance : 2 * range - distance;
  return x < low ? low + back : high - back;
}

// From [-1, 1] to a position, inside the border where the padding moves it there. Before a border a cubic's taps are clamped instead.
static inline TX position(TX normalized, long size, Sampling s) {
  const TX length = size, low = s.align_corners ? (TX)0 : -R(0.5), high = length - (s.align_corners ? (TX)1 : R(0.5));
  TX x = s.align_corners ? (normalized + 1) / 2 * (length - 1) : ((normalized + 1) * length - 1) / 2;
  if (isnan(x)) x = -8;  // outside
  if (s.mode == 0) x = rint(x);
  if (x < low || x > high) {
    if (s.padding == 1 && s.mode != 2) x = clamp(x, (TX)0, length - 1);
    if (s.padding == 2) {
      x = reflected(x, low, high);
      if (isnan(x)) x = 0;  // from infinity
    }
  }
  return clamp(x, (TX)-8, length + 8);
}

// The element at an integer position; -1: none.
static inline long element(long i, long size, Sampling s) {
  if (i >= 0 && i < size) return i;
  if (s.padding == 0) return -1;
  if (s.padding == 1) return clamp(i, 0L, size - 1);
  const TX low = s.align_corners ? (TX)0 : -R(0.5), high = (TX)size - (s.align_corners ? (TX)1 : R(0.5));
  return clamp((long)reflected((TX)i, low, high), 0L, size - 1);
}

static inline TX outer(TX t) { return ((R(-0.75) * t + R(3.75)) * t - R(6.0)) * t + R(3.0); }
static inline TX inner(TX t) { return (R(1.25) * t - R(2.25)) * t * t + R(1.0); }

__kernel void grid_sample(ulong total, __global uchar* x_, ulong xo, __global uchar* grid_, ulong go, __global uchar* y_, ulong yo, Sampling s) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long point = (long)i % s.points, plane = (long)i / s.points, n = plane / s.channels;
  long size = 1, index[3][4];
  TX weight[3][4];
  const int taps = s.mode == 0 ? 1 : s.mode == 1 ? 2 : 4;
  for (int d = 0; d < 3; ++d) {
    if (d >= s.rank) {
      for (int t = 0; t < 4; ++t) {
        index[d][t] = 0;
        weight[d][t] = t == 0 ? (TX)1 : (TX)0;
      }
      continue;
    }
    size *= s.in[d];
    // Coordinates stand the innermost first.
    const TX x = position((TX)GET_G(grid_ + go, (n * s.points + point) * s.rank + (s.rank - 1 - d)), s.in[d], s);
    const TX below = floor(x), f = x - below;
    const long first = s.mode == 0 ? (long)x : s.mode == 1 ? (long)below : (long)below - 1;
    weight[d][0] = s.mode == 0 ? (TX)1 : s.mode == 1 ? 1 - f : outer(f + 1);
    weight[d][1] = s.mode == 1 ? f : inner(f);
    weight[d][2] = inner(1 - f);
    weight[d][3] = outer(2 - f);
    for (int t = 0; t < taps; ++t) index[d][t] = element(first + t, s.in[d], s);
  }
  TX sum = 0;
  for (int t0 = 0; t0 < taps; ++t0) {
    for (int t1 = 0; t1 < (s.rank > 1 ? taps : 1); ++t1) {
      for (int t2 = 0; t2 < (s.rank > 2 ? taps : 1); ++t2) {
        if (index[0][t0] < 0 || index[1][t1] < 0 || index[2][t2] < 0) continue;
        const long at = (index[0][t0] * (s.rank > 1 ? s.in[1] : 1) + index[1][t1]) * (s.rank > 2 ? s.in[2] : 1) + index[2][t2];
        const TX own = weight[0][t0] * weight[1][t1] * weight[2][t2];
        if (own != 0) sum += own * GET_X(x_ + xo, plane * size + at);
      }
    }
  }
  PUT_X(y_ + yo, i, sum);
}
