// Maximum or mean of a window. One work item computes one output element.
typedef struct { int in[3], out[3], window[3], stride[3], dilation[3], pad[3]; int mean, include_padding; } Geometry;

__kernel void pool(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Geometry g) {
  const long position = get_global_id(0), plane = get_global_id(1);
  if ((ulong)position >= total) return;
  const long first = plane * ((long)g.in[0] * g.in[1] * g.in[2]);
  const int o[3] = {position / (g.out[1] * g.out[2]), position / g.out[2] % g.out[1], position % g.out[2]};
  TX value = g.mean ? (TX)0 : LOWEST;
  int count = 0;
  for (int k0 = 0; k0 < g.window[0]; ++k0) {
    const int i0 = o[0] * g.stride[0] + k0 * g.dilation[0] - g.pad[0];
    if (i0 < 0 || i0 >= g.in[0]) continue;
    for (int k1 = 0; k1 < g.window[1]; ++k1) {
      const int i1 = o[1] * g.stride[1] + k1 * g.dilation[1] - g.pad[1];
      if (i1 < 0 || i1 >= g.in[1]) continue;
      for (int k2 = 0; k2 < g.window[2]; ++k2) {
        const int i2 = o[2] * g.stride[2] + k2 * g.dilation[2] - g.pad[2];
        if (i2 < 0 || i2 >= g.in[2]) continue;
        const TX element = GET_X(x_ + xo, first + ((long)i0 * g.in[1] + i1) * g.in[2] + i2);
        value = g.mean ? value + element : (element > value || element != element ? element : value);
        ++count;
      }
    }
  }
  if (g.mean) value /= g.include_padding ? g.window[0] * g.window[1] * g.window[2] : max(count, 1);
  PUT_X(y_ + yo, plane * ((long)g.out[0] * g.out[1] * g.out[2]) + position, value);
}
