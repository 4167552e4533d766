// One group standardizes all elements that share the dimensions which are kept.
GROUP_FOLD(TX)

__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void mean_variance(__global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Strided kept, Strided reduced, long n, float term) {
  __local TX lanes[LANES];
  const long start = offset_of(get_group_id(0), &kept);
  TX sum = 0, squares = 0;
  for (long i = get_local_id(0); i < n; i += LANES) sum += GET_X(x_ + xo, start + offset_of(i, &reduced));
  const TX mean = group_fold(lanes, sum, 0) / (TX)n;
  for (long i = get_local_id(0); i < n; i += LANES) {
    const TX x = GET_X(x_ + xo, start + offset_of(i, &reduced)) - mean;
    squares += x * x;
  }
  const TX deviation = sqrt(group_fold(lanes, squares, 0) / (TX)n) + term;
  for (long i = get_local_id(0); i < n; i += LANES) {
    const long at = start + offset_of(i, &reduced);
    PUT_X(y_ + yo, at, (GET_X(x_ + xo, at) - mean) / deviation);
  }
}
