// A window's maximum, mean or norm.
typedef struct {
  int reach[3];  // where the padding behind the elements ends
  int include_padding, column_major;
} Rules;

#if defined(MEAN)
#define INITIAL ((TX)0)
#define JOINED(value, element) ((value) + (element))
#define MERGED(a, b) ((a) + (b))
#define FINISH(value, count) ((value) / (TX)max((long)(count), 1L))
#elif defined(NORM)
#if NORM > 0
// A whole power, by products: pow takes a hundred times as long on processors.
static inline __attribute__((always_inline)) TX whole_power(TX x) {
  TX power = 1;
#pragma unroll
  for (int exponent = NORM; exponent > 0; exponent >>= 1) {
    if (exponent & 1) power *= x;
    x *= x;
  }
  return power;
}
#define POWER_OF(element) (NORM % 2 == 0 ? whole_power(element) : whole_power(fabs(element)))
#else
#define POWER_OF(element) pow(fabs(element), (TX)power)
#endif
#define INITIAL ((TX)0)
#define JOINED(value, element) ((value) + POWER_OF(element))
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

// A window's result, and where in its plane the maximum is.
static inline void write_window(Geometry g, Rules r, long position, long plane, TX value, long at, __global uchar* y, __global long* indices,
                                float power) {
  const int o[3] = {position / ((long)g.out[1] * g.out[2]), position / g.out[2] % g.out[1], position % g.out[2]};
  long count = 1;
  for (int d = 0; d < 3; ++d) {
    const int2 s = seen(o[d], 1, d, g);
    count *= r.include_padding ? taps(o[d], d, g, r) : max(s.y - s.x, 0);
  }
  const long to = plane * ((long)g.out[0] * g.out[1] * g.out[2]) + position;
  PUT_X(y, to, FINISH(value, count));
  if (indices == 0) return;
  const long first = plane * ((long)g.in[0] * g.in[1] * g.in[2]);
  if (at >= 0 && r.column_major) {
    const long i2 = at % g.in[2], i1 = at / g.in[2] % g.in[1], i0 = at / g.in[2] / g.in[1];
    at = i0 + g.in[0] * (i1 + g.in[1] * i2);
  }
  indices[to] = at < 0 ? -1 : first + at;
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
      }
    }
  }
  write_window(g, r, position, plane, value, at, y_ + yo, indices_ == 0 ? 0 : AT(long, indices_, io), power);
}
#endif

#if defined(KERNEL_pool_slices) || defined(KERNEL_join_windows)
// Of a slice of a window: its value, and for maxima where it is, -1 where the slice has no element.
typedef struct {
  TX value;
  long at;
} Part;
// Whether one maximum comes before another: NaN before numbers, of equal ones the first.
static inline int comes_before(Part a, Part b) {
  if (a.at < 0 || b.at < 0) return a.at >= 0;
  if (a.value != a.value || b.value != b.value) return a.value != a.value && (b.value == b.value || a.at < b.at);
  return a.value > b.value || (a.value == b.value && a.at < b.at);
}
#endif

#ifdef KERNEL_pool_slices
// Large windows: an item has each of so many taps, `slices` apart, so that neighbours read neighbours. Outputs from `first_output` on.
__kernel void pool_slices(ulong total, __global uchar* x_, ulong xo, __global uchar* parts_, ulong po, Geometry g, long first_output, long slices,
                          float power) {
  const long i = get_global_id(0);
  if ((ulong)i >= total) return;
  const long outputs = (long)g.out[0] * g.out[1] * g.out[2], output = first_output + i / slices, plane = output / outputs, position = output % outputs;
  const long size = (long)g.in[0] * g.in[1] * g.in[2];
  const int o[3] = {position / ((long)g.out[1] * g.out[2]), position / g.out[2] % g.out[1], position % g.out[2]};
  const int2 s0 = seen(o[0], 1, 0, g), s1 = seen(o[1], 1, 1, g), s2 = seen(o[2], 1, 2, g);
  const long n1 = max(s1.y - s1.x, 0), n2 = max(s2.y - s2.x, 0), n = max(s0.y - s0.x, 0) * n1 * n2;
  Part part = {INITIAL, -1};
  if (n > 0) {
    // Tap k0, k1, k2, and how far the next one is.
    const long step0 = slices / (n1 * n2), step1 = slices / n2 % n1, step2 = slices % n2;
    long tap = i % slices, k0 = tap / (n1 * n2), k1 = tap / n2 % n1, k2 = tap % n2;
    for (; tap < n; tap += slices) {
      const long i0 = o[0] * (long)g.stride[0] + (s0.x + k0) * g.dilation[0] - g.pad[0];
      const long i1 = o[1] * (long)g.stride[1] + (s1.x + k1) * g.dilation[1] - g.pad[1];
      const long i2 = o[2] * (long)g.stride[2] + (s2.x + k2) * g.dilation[2] - g.pad[2];
      const long here = (i0 * g.in[1] + i1) * g.in[2] + i2;
      const TX element = GET_X(x_ + xo, plane * size + here);
#if defined(MEAN) || defined(NORM)
      part.value = JOINED(part.value, element);
#else
      const Part one = {element, here};
      if (comes_before(one, part)) part = one;
#endif
      k2 += step2;
      k1 += step1;
      k0 += step0;
      if (k2 >= n2) k2 -= n2, ++k1;
      if (k1 >= n1) k1 -= n1, ++k0;
    }
  }
  AT(Part, parts_, po)[i] = part;
}
#endif

#ifdef KERNEL_join_windows
// Slices of a window. They are few.
__kernel void join_windows(ulong total, __global uchar* parts_, ulong po, __global uchar* y_, ulong yo, __global uchar* indices_, ulong io, Geometry g,
                           Rules r, long first_output, long slices, float power) {
  const long i = get_global_id(0);
  if ((ulong)i >= total) return;
  __global const Part* parts = AT(const Part, parts_, po) + i * slices;
  Part all = parts[0];
  for (long slice = 1; slice < slices; ++slice) {
    const Part part = parts[slice];
#if defined(MEAN) || defined(NORM)
    all.value = MERGED(all.value, part.value);
#else
    if (comes_before(part, all)) all = part;
#endif
  }
  const long outputs = (long)g.out[0] * g.out[1] * g.out[2], output = first_output + i, position = output % outputs;
  write_window(g, r, position, output / outputs, all.value, all.at, y_ + yo, indices_ == 0 ? 0 : AT(long, indices_, io), power);
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
