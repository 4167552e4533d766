// Resampling by tables of the host: along each resized dimension an output position reads `taps` neighbours from its first one.
typedef struct { int rank, weighted; long in_stride[8], out[8], first[8], weights[8], taps[8]; } Plan;

#ifdef REAL_X
#define FILL ((TX)fill)
#else
#define FILL ((TX)integer_fill)
#endif

// What a position reads along the first dimensions, `count` neighbours of `from`; tap: where the weights of a dimension begin.
typedef struct { long from, count, tap[8]; int outside; } Taps;

// Of position i of the first `dims` dimensions. p.first: where a dimension's entries stand in `firsts`, -1 where it is not resized; an entry below 0
// lies outside the input.
static inline __attribute__((always_inline)) Taps taps_of(long i, int dims, const Plan* p, __global const int* firsts) {
  Taps taps;
  taps.from = 0;
  taps.count = 1;
  taps.outside = 0;
  for (int d = dims - 1; d >= 0; --d) {
    const long at = i % p->out[d];
    i /= p->out[d];
    if (p->first[d] < 0) {
      taps.from += at * p->in_stride[d];
      continue;
    }
    const int first = firsts[p->first[d] + at];
    taps.outside |= first < 0;
    taps.from += (long)first * p->in_stride[d];
    taps.tap[d] = p->weights[d] + at * p->taps[d];
    taps.count *= p->taps[d];
  }
  return taps;
}

#ifdef REAL_X
// The weight of neighbour t of these, and where it is.
static inline __attribute__((always_inline)) TX weight_of(long t, int dims, const Taps* taps, const Plan* p, __global const TX* weights, long* at) {
  *at = taps->from;
  TX weight = 1;
  for (int d = dims - 1; d >= 0; --d) {
    if (p->first[d] < 0) continue;
    const long k = t % p->taps[d];
    t /= p->taps[d];
    weight *= weights[taps->tap[d] + k];
    *at += k * p->in_stride[d];
  }
  return weight;
}
#endif

#ifdef KERNEL_resize
__kernel void resize(ulong total, __global uchar* x_, ulong xo, __global uchar* firsts_, ulong fo, __global uchar* weights_, ulong wo,
                     __global uchar* y_, ulong yo, Plan p, float fill, long integer_fill) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const Taps taps = taps_of((long)i, p.rank, &p, AT(const int, firsts_, fo));
  if (taps.outside) {
    PUT_X(y_ + yo, i, FILL);
    return;
  }
#ifdef REAL_X
  if (p.weighted) {
    __global const TX* weights = AT(const TX, weights_, wo);
    TX sum = 0;
    for (long t = 0; t < taps.count; ++t) {
      long at;
      const TX weight = weight_of(t, p.rank, &taps, &p, weights, &at);
      if (weight != 0) sum += weight * GET_X(x_ + xo, at);
    }
    PUT_X(y_ + yo, i, sum);
    return;
  }
#endif
  PUT_X(y_ + yo, i, GET_X(x_ + xo, taps.from));
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
    const Taps outer = taps_of(row, last, &p, firsts);
    __global uchar* y = y_ + yo;
    __global const uchar* x = x_ + xo;
    const long to = row * width;
    if (outer.outside) {
      for (long j = begin; j < end; ++j) PUT_X(y, to + j, FILL);
      continue;
    }
    __global const int* first = firsts + p.first[last];
#ifdef REAL_X
    if (p.weighted) {
      __global const TX* weights = AT(const TX, weights_, wo);
      for (long j = 0; j < read; ++j) acc[j] = 0;
      for (long t = 0; t < outer.count; ++t) {
        long at;
        const TX weight = weight_of(t, last, &outer, &p, weights, &at);
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
      for (long j = begin; j < end; ++j) PUT_X(y, to + j, GET_X(x, outer.from + j));
    } else {
      for (long j = begin; j < end; ++j) PUT_X(y, to + j, first[j] < 0 ? FILL : GET_X(x, outer.from + first[j]));
    }
  }
}
#endif
