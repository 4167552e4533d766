// Resampling by tables of the host: along each resized dimension an output position reads `taps` neighbours from its first one.
typedef struct { int rank, weighted; long in_stride[8], out[8], first[8], weights[8], taps[8]; } Plan;

#ifdef REAL_X
#define FILL ((TX)fill)
#else
#define FILL ((TX)integer_fill)
#endif

// first: where a dimension's entries stand in `firsts_`, -1 where it is not resized; an entry below 0 lies outside the input.
#ifdef KERNEL_resize
__kernel void resize(ulong total, __global uchar* x_, ulong xo, __global uchar* firsts_, ulong fo, __global uchar* weights_, ulong wo,
                     __global uchar* y_, ulong yo, Plan p, float fill, long integer_fill) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  __global const int* firsts = AT(const int, firsts_, fo);
  long rest = (long)i, from = 0, count = 1, tap[8];
  int outside = 0;
  for (int d = p.rank - 1; d >= 0; --d) {
    const long at = rest % p.out[d];
    rest /= p.out[d];
    if (p.first[d] < 0) {
      from += at * p.in_stride[d];
      continue;
    }
    const int first = firsts[p.first[d] + at];
    outside |= first < 0;
    from += (long)first * p.in_stride[d];
    tap[d] = p.weights[d] + at * p.taps[d];
    count *= p.taps[d];
  }
  if (outside) {
    PUT_X(y_ + yo, i, FILL);
    return;
  }
#ifdef REAL_X
  if (p.weighted) {
    __global const TX* weights = AT(const TX, weights_, wo);
    TX sum = 0;
    for (long t = 0; t < count; ++t) {
      long left = t, at = from;
      TX weight = 1;
      for (int d = p.rank - 1; d >= 0; --d) {
        if (p.first[d] < 0) continue;
        const long k = left % p.taps[d];
        left /= p.taps[d];
        weight *= weights[tap[d] + k];
        at += k * p.in_stride[d];
      }
      if (weight != 0) sum += weight * GET_X(x_ + xo, at);
    }
    PUT_X(y_ + yo, i, sum);
    return;
  }
#endif
  PUT_X(y_ + yo, i, GET_X(x_ + xo, from));
}
#endif

#ifdef KERNEL_resize_rows
// For processors: elements of an input's row, of `columns`, at most ROW_PIECE, where it is resized, are summed first over the other dimensions' taps.
__kernel void resize_rows(__global uchar* x_, ulong xo, __global uchar* firsts_, ulong fo, __global uchar* weights_, ulong wo, __global uchar* y_, ulong yo,
                          Plan p, float fill, long integer_fill, long columns, long rows, long together) {
  __global const int* firsts = AT(const int, firsts_, fo);
  const int last = p.rank - 1;
  const long width = p.out[last];
  TX acc[ROW_PIECE];
  EACH_ROW(width, rows, together) {
    const long low = p.first[last] < 0 ? begin : 0, read = p.first[last] < 0 ? end - begin : columns;
    long rest = row, from = 0, count = 1, tap[8];
    int outside = 0;
    for (int d = last - 1; d >= 0; --d) {
      const long at = rest % p.out[d];
      rest /= p.out[d];
      if (p.first[d] < 0) {
        from += at * p.in_stride[d];
        continue;
      }
      const int first = firsts[p.first[d] + at];
      outside |= first < 0;
      from += (long)first * p.in_stride[d];
      tap[d] = p.weights[d] + at * p.taps[d];
      count *= p.taps[d];
    }
    __global uchar* y = y_ + yo;
    __global const uchar* x = x_ + xo;
    const long to = row * width;
    if (outside) {
      for (long j = begin; j < end; ++j) PUT_X(y, to + j, FILL);
      continue;
    }
    __global const int* first = firsts + p.first[last];
#ifdef REAL_X
    if (p.weighted) {
      __global const TX* weights = AT(const TX, weights_, wo);
      for (long j = 0; j < read; ++j) acc[j] = 0;
      for (long t = 0; t < count; ++t) {
        long left = t, at = from;
        TX weight = 1;
        for (int d = last - 1; d >= 0; --d) {
          if (p.first[d] < 0) continue;
          const long k = left % p.taps[d];
          left /= p.taps[d];
          weight *= weights[tap[d] + k];
          at += k * p.in_stride[d];
        }
        if (weight == 0) continue;
        for (long j = 0; j < read; ++j) acc[j] += weight * GET_X(x, at + low + j);
      }
      if (p.first[last] < 0) {
        for (long j = 0; j < read; ++j) PUT_X(y, to + low + j, acc[j]);
        continue;
      }
      const long taps = p.taps[last];
      __global const TX* weights_of = weights + p.weights[last];
      for (long j = begin; j < end; ++j) {
        TX sum = 0;
        if (first[j] < 0) {
          sum = FILL;
        } else {
          for (long k = 0; k < taps; ++k) {
            const TX weight = weights_of[j * taps + k];
            sum += weight != 0 ? weight * acc[first[j] + k] : (TX)0;
          }
        }
        PUT_X(y, to + j, sum);
      }
      continue;
    }
#endif
    if (p.first[last] < 0) {
      for (long j = begin; j < end; ++j) PUT_X(y, to + j, GET_X(x, from + j));
    } else {
      for (long j = begin; j < end; ++j) PUT_X(y, to + j, first[j] < 0 ? FILL : GET_X(x, from + first[j]));
    }
  }
}
#endif
