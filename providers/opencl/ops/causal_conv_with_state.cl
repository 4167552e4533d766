// Causal convolutions of channels over time. One work item computes one of a channel's `length` results, or one of the k - 1 inputs that
// the next call begins with.
static inline TX input_at(__global const uchar* past, __global const uchar* x, long row, long length, int carried, long at) {
  if (at >= carried) return GET_X(x, row * length + at - carried);
  return past != 0 ? GET_X(past, row * carried + at) : (TX)0;
}

__kernel void causal_conv(ulong total, __global uchar* x_, ulong xo, __global uchar* weight_, ulong wo, __global uchar* bias_, ulong bo,
                          __global uchar* past_, ulong po, __global uchar* y_, ulong yo, __global uchar* present_, ulong no, long channels,
                          long length, int carried, int silu) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long at = (long)i % (length + carried), row = (long)i / (length + carried), channel = row % channels;
  __global const uchar *past = past_ == 0 ? 0 : past_ + po, *x = x_ + xo;
  if (at >= length) {
    if (present_ != 0) PUT_X(present_ + no, row * carried + at - length, input_at(past, x, row, length, carried, at));
    return;
  }
  if (y_ == 0) return;
  TX sum = bias_ != 0 ? GET_X(bias_ + bo, channel) : (TX)0;
  for (int j = 0; j <= carried; ++j) sum += GET_X(weight_ + wo, channel * (carried + 1) + j) * input_at(past, x, row, length, carried, at + j);
  if (silu) {
    sum = ROUND_X(sum);
    sum = sum / (1 + exp(-sum));
  }
  PUT_X(y_ + yo, row * length + at, sum);
}
