// Resampling by tables of the host: along each resized dimension an output position reads `taps` neighbours from its first one.
typedef struct { int rank, weighted; long in_stride[8], out[8], first[8], weights[8], taps[8]; } Plan;

// first: where a dimension's entries stand in `firsts_`, -1 where it is not resized; an entry below 0 lies outside the input.
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
#ifdef REAL_X
    PUT_X(y_ + yo, i, (TX)fill);
#else
    PUT_X(y_ + yo, i, (TX)integer_fill);
#endif
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
