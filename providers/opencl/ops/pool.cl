// A window's maximum, mean or norm.
typedef struct {
  int reach[3];  // where the padding behind the elements ends
  int include_padding, column_major;
} Rules;

#if defined(MEAN)
#define INITIAL ((TX)0)
#define JOINED(value, element) ((value) + (element))
#define MERGED(a, b) ((a) + (b))
#define FINISH(value, count) ((value) / max(count, 1))
#elif defined(NORM)
#define INITIAL ((TX)0)
#define JOINED(value, element) ((value) + (NORM == 1 ? fabs(element) : NORM == 2 ? (element) * (element) : pow(fabs(element), (TX)power)))
#define MERGED(a, b) ((a) + (b))
#define FINISH(value, count) (NORM == 1 ? (value) : NORM == 2 ? sqrt(value) : pow(value, (TX)(1.0f / power)))
#else
// The first of equal ones, and NaN, stay.
#define INITIAL ((TX)LOWEST)
#define JOINED(value, element) ((element) <= (value) || (value) != (value) ? (value) : (element))
#define MERGED(a, b) JOINED(a, b)
#define FINISH(value, count) (value)
#endif

// Taps of one dimension that fall on elements or padding.
static inline int taps(int o, int d, Geometry g, Rules r) {
  const int room = r.reach[d] + g.pad[d] - o * g.stride[d];
  return clamp((room + g.dilation[d] - 1) / g.dilation[d], 0, g.window[d]);
}

// Taps [low, high) of one dimension that may fall on elements, for outputs from `o` on, of `outputs` many: windows may be far larger
// than what they look at.
static inline int2 seen(int o, int outputs, int d, Geometry g) {
  const long first = (long)o * g.stride[d] - g.pad[d], last = first + (long)(outputs - 1) * g.stride[d];
  const long low = last < 0 ? (-last + g.dilation[d] - 1) / g.dilation[d] : 0;
  const long high = first < g.in[d] ? ((long)g.in[d] - 1 - first) / g.dilation[d] + 1 : 0;
  return (int2)((int)min(low, (long)g.window[d]), (int)min(high, (long)g.window[d]));
}

#ifdef KERNEL_pool
// One work item computes one output element.
__kernel void pool(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, __global uchar* indices_, ulong io, Geometry g,
                   Rules r, float power) {
  const long position = get_global_id(0), plane = get_global_id(1);
  if ((ulong)position >= total) return;
  const long size = (long)g.in[0] * g.in[1] * g.in[2], first = plane * size;
  const int o[3] = {position / ((long)g.out[1] * g.out[2]), position / g.out[2] % g.out[1], position % g.out[2]};
  TX value = INITIAL;
  int count = 0;
  long at = -1;
  const int2 s0 = seen(o[0], 1, 0, g), s1 = seen(o[1], 1, 1, g), s2 = seen(o[2], 1, 2, g);
  for (int k0 = s0.x; k0 < s0.y; ++k0) {
    const int i0 = o[0] * g.stride[0] + k0 * g.dilation[0] - g.pad[0];
    for (int k1 = s1.x; k1 < s1.y; ++k1) {
      const int i1 = o[1] * g.stride[1] + k1 * g.dilation[1] - g.pad[1];
      for (int k2 = s2.x; k2 < s2.y; ++k2) {
        const int i2 = o[2] * g.stride[2] + k2 * g.dilation[2] - g.pad[2];
        const long here = ((long)i0 * g.in[1] + i1) * g.in[2] + i2;
        const TX element = GET_X(x_ + xo, first + here);
#if defined(MEAN) || defined(NORM)
        value = JOINED(value, element);
#else
        if (at < 0 || element > value || (element != element && value == value)) value = element, at = here;
#endif
        ++count;
      }
    }
  }
  if (r.include_padding) count = taps(o[0], 0, g, r) * taps(o[1], 1, g, r) * taps(o[2], 2, g, r);
  const long to = plane * ((long)g.out[0] * g.out[1] * g.out[2]) + position;
  PUT_X(y_ + yo, to, FINISH(value, count));
  if (indices_ == 0) return;
  if (at >= 0 && r.column_major) {
    const long i2 = at % g.in[2], i1 = at / g.in[2] % g.in[1], i0 = at / g.in[2] / g.in[1];
    at = i0 + g.in[0] * (i1 + g.in[1] * i2);
  }
  AT(long, indices_, io)[to] = at < 0 ? -1 : first + at;
}
#endif

#ifdef KERNEL_pool_rows
// For processors, without indices: one work item computes COLUMNS elements of a row, in loops that become vectors. Rows of a plane in
// the second dimension, planes in the third.
__kernel void pool_rows(__global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Geometry g, Rules r, float power) {
  const int o0 = get_global_id(1) / g.out[1], o1 = get_global_id(1) % g.out[1], o2 = get_global_id(0) * COLUMNS;
  const int width = min(COLUMNS, g.out[2] - o2), stride = g.stride[2];
  TX value[COLUMNS];
  int count[COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) value[j] = INITIAL, count[j] = 0;
  const int2 s0 = seen(o0, 1, 0, g), s1 = seen(o1, 1, 1, g), s2 = seen(o2, width, 2, g);
  for (int k0 = s0.x; k0 < s0.y; ++k0) {
    const int i0 = o0 * g.stride[0] + k0 * g.dilation[0] - g.pad[0];
    for (int k1 = s1.x; k1 < s1.y; ++k1) {
      const int i1 = o1 * g.stride[1] + k1 * g.dilation[1] - g.pad[1];
      const __global uchar* row = x_ + xo + (((long)get_global_id(2) * g.in[0] + i0) * g.in[1] + i1) * g.in[2] * BYTES;
      for (int k2 = s2.x; k2 < s2.y; ++k2) {
        const int i2 = o2 * stride + k2 * g.dilation[2] - g.pad[2];
        if (i2 >= 0 && i2 + COLUMNS * stride <= g.in[2]) {
          TX element[COLUMNS];
          if (stride == 1) {
            for (int j = 0; j < COLUMNS; ++j) element[j] = GET_X(row, i2 + j);
          } else if (stride == 2) {
            for (int j = 0; j < COLUMNS; ++j) element[j] = GET_X(row, i2 + 2 * j);
          } else {
            for (int j = 0; j < COLUMNS; ++j) element[j] = GET_X(row, i2 + j * stride);
          }
          for (int j = 0; j < COLUMNS; ++j) value[j] = JOINED(value[j], element[j]), ++count[j];
        } else {
          // Positions [low, high) read inside the row.
          const int low = i2 < 0 ? (stride - 1 - i2) / stride : 0, high = i2 < g.in[2] ? min(width, (g.in[2] - 1 - i2) / stride + 1) : 0;
          for (int j = low; j < high; ++j) {
            const TX element = GET_X(row, i2 + j * stride);
            value[j] = JOINED(value[j], element);
            ++count[j];
          }
        }
      }
    }
  }
  const long to = ((long)get_global_id(2) * g.out[0] * g.out[1] + get_global_id(1)) * g.out[2] + o2;
  for (int j = 0; j < width; ++j) {
    if (r.include_padding) count[j] = taps(o0, 0, g, r) * taps(o1, 1, g, r) * taps(o2 + j, 2, g, r);
    PUT_X(y_ + yo, to + j, FINISH(value[j], count[j]));
  }
}
#endif

#ifdef KERNEL_pool_planes
// For processors, windows that are whole planes of `size` elements: one work item a plane, in a loop that becomes vectors.
__kernel void pool_planes(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, long size, float power) {
  const long plane = get_global_id(0);
  if ((ulong)plane >= total) return;
  const __global uchar* from = x_ + xo + plane * size * BYTES;
  TX value[COLUMNS], all = INITIAL;
  for (int j = 0; j < COLUMNS; ++j) value[j] = INITIAL;
  long i = 0;
  for (; i + COLUMNS <= size; i += COLUMNS) {
    for (int j = 0; j < COLUMNS; ++j) {
      const TX element = GET_X(from, i + j);
      value[j] = JOINED(value[j], element);
    }
  }
  for (; i < size; ++i) {
    const TX element = GET_X(from, i);
    all = JOINED(all, element);
  }
  for (int j = 0; j < COLUMNS; ++j) all = MERGED(all, value[j]);
  PUT_X(y_ + yo, plane, FINISH(all, (int)size));
}
#endif
