// Transposed convolution of up to three spatial dimensions.

// The input position whose tap k falls on output position o; -1 where there is none.
static inline long source(long o, int k, int d, Geometry g) {
  const long at = o + g.pad[d] - (long)k * g.dilation[d];
  if (at < 0 || at % g.stride[d] != 0) return -1;
  const long i = at / g.stride[d];
  return i < g.in[d] ? i : -1;
}

#ifdef KERNEL_transposed
// One work item gathers PER channels of one output position from the input positions whose windows reach it, so that each input element
// it reads is used PER times.
__kernel void transposed(ulong total, __global uchar* x_, ulong xo, __global uchar* w_, ulong wo, __global uchar* bias_, ulong biaso,
                         __global uchar* y_, ulong yo, Geometry g EPILOGUE_PARAMETERS) {
  const long position = get_global_id(0);
  if ((ulong)position >= total) return;
  const long in_size = (long)g.in[0] * g.in[1] * g.in[2], taps = (long)g.window[0] * g.window[1] * g.window[2];
  const int blocks = (g.group_out + PER - 1) / PER, group = get_global_id(1) / blocks, first = get_global_id(1) % blocks * PER;
  const long batch = get_global_id(2);
  const long o2 = position % g.out[2], o1 = position / g.out[2] % g.out[1], o0 = position / g.out[2] / g.out[1];
  const long first_channel = group * g.group_in, image = (batch * g.channels + first_channel) * in_size;
  const long weights = first_channel * g.group_out * taps;
  TX sum[PER];
  long filter[PER];  // of the group; the last one again past it
  for (int p = 0; p < PER; ++p) {
    filter[p] = min(first + p, g.group_out - 1);
    sum[p] = bias_ != 0 ? GET_X(bias_ + biaso, (long)group * g.group_out + filter[p]) : (TX)0;
  }
  for (int k0 = 0; k0 < g.window[0]; ++k0) {
    const long i0 = source(o0, k0, 0, g);
    if (i0 < 0) continue;
    for (int k1 = 0; k1 < g.window[1]; ++k1) {
      const long i1 = source(o1, k1, 1, g);
      if (i1 < 0) continue;
      for (int k2 = 0; k2 < g.window[2]; ++k2) {
        const long i2 = source(o2, k2, 2, g);
        if (i2 < 0) continue;
        const long from = image + (i0 * g.in[1] + i1) * g.in[2] + i2, tap = weights + ((long)k0 * g.window[1] + k1) * g.window[2] + k2;
        for (long c = 0; c < g.group_in; ++c) {
          const TX value = GET_X(x_ + xo, from + c * in_size);
          for (int p = 0; p < PER; ++p) sum[p] += value * GET_X(w_ + wo, tap + (c * g.group_out + filter[p]) * taps);
        }
      }
    }
  }
  for (int p = 0; p < PER && first + p < g.group_out; ++p) {
    const long at = (batch * g.filters + (long)group * g.group_out + first + p) * g.out[0] * g.out[1] * g.out[2] + position;
    PUT_X(y_ + yo, at, EPILOGUE(sum[p], at));
  }
}
#endif

#ifdef KERNEL_add_taps
// Adds up what every tap of `filters` filters of each group, from `first` on, makes of the image: [stacks][filters][taps][positions], on
// processors. An item has `width` columns of ROWS rows of a plane. In a row, columns that the same taps reach stand together: then each
// tap adds neighbours to neighbours.
__kernel void add_taps(__global uchar* c_, ulong co, __global uchar* bias_, ulong biaso, __global uchar* y_, ulong yo, Geometry g, int first,
                       int filters, int width EPILOGUE_PARAMETERS) {
  const long stack = get_global_id(2) / filters, filter = first + get_global_id(2) % filters, plane = stack * g.group_out + filter;
  const long in_size = (long)g.in[0] * g.in[1] * g.in[2], taps = (long)g.window[0] * g.window[1] * g.window[2];
  __global const TX* terms = (__global const TX*)(c_ + co) + (long)get_global_id(2) * taps * in_size;
  const int s = g.stride[2], first_column = get_global_id(0) * width, columns = min(width, g.out[2] - first_column);
  const int phase = (columns + s - 1) / s;  // elements kept of the columns that the same taps reach
  const TX bias = bias_ != 0 ? GET_X(bias_ + biaso, plane % g.filters) : (TX)0;
  const int end = min((int)get_global_id(1) * ROWS + ROWS, g.out[0] * g.out[1]);
  for (int row = get_global_id(1) * ROWS; row < end; ++row) {
    TX acc[ROW], results[ROW];
    for (int j = 0; j < phase * s; ++j) acc[j] = bias;
    for (int k0 = 0; k0 < g.window[0]; ++k0) {
      const long i0 = source(row / g.out[1], k0, 0, g);
      if (i0 < 0) continue;
      for (int k1 = 0; k1 < g.window[1]; ++k1) {
        const long i1 = source(row % g.out[1], k1, 1, g);
        if (i1 < 0) continue;
        __global const TX* from = terms + ((long)k0 * g.window[1] + k1) * g.window[2] * in_size + (i0 * g.in[1] + i1) * g.in[2];
        for (int k2 = 0; k2 < g.window[2]; ++k2, from += in_size) {
          // Column first_column + p + j * s takes element i2 + j.
          const long reach = (long)k2 * g.dilation[2] - g.pad[2];
          const int p = (int)(reach % s + s) % s;
          const long i2 = (first_column + p - reach) / s;
          const int low = (int)min(max(0L, -i2), (long)phase), high = (int)max(min(g.in[2] - i2, (long)phase), (long)low);
          TX* to = acc + p * phase;
          for (int j = low; j < high; ++j) to[j] += from[i2 + j];
        }
      }
    }
    const long at = (plane * g.out[0] * g.out[1] + row) * g.out[2] + first_column;
    if (s == 1) {
      for (int j = 0; j < columns; ++j) PUT_X(y_ + yo, at + j, EPILOGUE(acc[j], at + j));
      continue;
    }
    if (s == 2) {
      for (int j = 0; j < phase; ++j) results[2 * j] = acc[j], results[2 * j + 1] = acc[phase + j];
    } else {
      for (int p = 0; p < s; ++p) {
        for (int j = 0; j < phase; ++j) results[j * s + p] = acc[p * phase + j];
      }
    }
    for (int j = 0; j < columns; ++j) PUT_X(y_ + yo, at + j, EPILOGUE(results[j], at + j));
  }
}
#endif
