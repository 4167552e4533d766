// Direct convolution of up to three spatial dimensions, any group, stride, dilation. One work item computes PER output channels of
// one output position, so that each input element it reads is used PER times.

__kernel void convolve(ulong total, __global uchar* x_, ulong xo, __global uchar* w_, ulong wo, __global uchar* bias_, ulong biaso,
                       __global uchar* y_, ulong yo, Geometry g EPILOGUE_PARAMETERS) {
  const long position = get_global_id(0);
  if ((ulong)position >= total) return;
  const long in_size = (long)g.in[0] * g.in[1] * g.in[2], out_size = (long)g.out[0] * g.out[1] * g.out[2];
  const int taps = g.window[0] * g.window[1] * g.window[2];
  const int blocks = (g.group_out + PER - 1) / PER;
  const int group = get_global_id(1) / blocks, first = (get_global_id(1) % blocks) * PER;
  const int batch = get_global_id(2);
  const int o0 = position / (g.out[1] * g.out[2]), o1 = position / g.out[2] % g.out[1], o2 = position % g.out[2];
  TX sum[PER];
  for (int p = 0; p < PER; ++p) {
    const int filter = group * g.group_out + first + p;
    sum[p] = bias_ != 0 && first + p < g.group_out ? GET_X(bias_ + biaso, filter) : (TX)0;
  }
  for (int c = 0; c < g.group_in; ++c) {
    const long plane = ((long)batch * g.channels + group * g.group_in + c) * in_size;
    for (int k0 = 0; k0 < g.window[0]; ++k0) {
      const int i0 = o0 * g.stride[0] + k0 * g.dilation[0] - g.pad[0];
      if (i0 < 0 || i0 >= g.in[0]) continue;
      for (int k1 = 0; k1 < g.window[1]; ++k1) {
        const int i1 = o1 * g.stride[1] + k1 * g.dilation[1] - g.pad[1];
        if (i1 < 0 || i1 >= g.in[1]) continue;
        for (int k2 = 0; k2 < g.window[2]; ++k2) {
          const int i2 = o2 * g.stride[2] + k2 * g.dilation[2] - g.pad[2];
          if (i2 < 0 || i2 >= g.in[2]) continue;
          const TX value = GET_X(x_ + xo, plane + ((long)i0 * g.in[1] + i1) * g.in[2] + i2);
          const int tap = (k0 * g.window[1] + k1) * g.window[2] + k2;
          for (int p = 0; p < PER; ++p) {
            const int filter = group * g.group_out + min(first + p, g.group_out - 1);
            sum[p] += value * GET_X(w_ + wo, ((long)filter * g.group_in + c) * taps + tap);
          }
        }
      }
    }
  }
  for (int p = 0; p < PER && first + p < g.group_out; ++p) {
    const long at = ((long)batch * g.filters + group * g.group_out + first + p) * out_size + position;
    PUT_X(y_ + yo, at, EPILOGUE(sum[p], at));
  }
}
