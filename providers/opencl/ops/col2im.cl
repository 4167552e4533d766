// One work item gathers one pixel from the columns whose blocks reach it. `in` of the geometry is the image, `out` its columns.

// Candidate t of the pairs of a tap and a column that meet in position q, counted with the padding, along a dimension; 0: none. The
// candidates are as many as the fewer of the two, in the order of taps.
static inline int meets(long q, int t, int d, Geometry g, long* tap, long* column) {
  if (g.window[d] <= g.out[d]) {
    const long rest = q - (long)t * g.dilation[d];
    *tap = t;
    *column = rest / g.stride[d];
    return rest >= 0 && rest % g.stride[d] == 0 && *column < g.out[d];
  }
  *column = g.out[d] - 1 - t;
  const long rest = q - *column * g.stride[d];
  *tap = rest / g.dilation[d];
  return rest >= 0 && rest % g.dilation[d] == 0 && *tap < g.window[d];
}

__kernel void col2im(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Geometry g) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long q2 = (long)i % g.in[2] + g.pad[2], q1 = (long)i / g.in[2] % g.in[1] + g.pad[1];
  const long above = (long)i / g.in[2] / g.in[1], q0 = above % g.in[0] + g.pad[0], plane = above / g.in[0];
  SUM sum = 0;
  long k0, k1, k2, c0, c1, c2;
  for (int t0 = 0; t0 < min(g.window[0], g.out[0]); ++t0) {
    if (!meets(q0, t0, 0, g, &k0, &c0)) continue;
    for (int t1 = 0; t1 < min(g.window[1], g.out[1]); ++t1) {
      if (!meets(q1, t1, 1, g, &k1, &c1)) continue;
      for (int t2 = 0; t2 < min(g.window[2], g.out[2]); ++t2) {
        if (!meets(q2, t2, 2, g, &k2, &c2)) continue;
        const long tap = ((plane * g.window[0] + k0) * g.window[1] + k1) * g.window[2] + k2;
        sum += (SUM)GET_X(x_ + xo, ((tap * g.out[0] + c0) * g.out[1] + c1) * g.out[2] + c2);
      }
    }
  }
  PUT_X(y_ + yo, i, (TX)sum);
}
