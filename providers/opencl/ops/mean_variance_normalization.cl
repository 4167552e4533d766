// One group standardizes all elements that share the dimensions which are kept.
GROUP_FOLD(TX)

static inline long offset_of(long i, const Strided* s) {
  long at = 0;
  for (int d = s->rank - 1; d >= 0; --d) {
    at += i % s->dims[d] * s->a[d];
    i /= s->dims[d];
  }
  return at;
}

#ifdef KERNEL_mean_variance
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void mean_variance(__global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Strided kept, Strided reduced, long n) {
  __local TX lanes[LANES];
  const long start = offset_of(get_group_id(0), &kept);
  TX sum = 0, squares = 0;
  for (long i = get_local_id(0); i < n; i += LANES) sum += GET_X(x_ + xo, start + offset_of(i, &reduced));
  const TX mean = group_fold(lanes, sum, 0) / (TX)n;
  for (long i = get_local_id(0); i < n; i += LANES) {
    const TX x = GET_X(x_ + xo, start + offset_of(i, &reduced)) - mean;
    squares += x * x;
  }
  const TX deviation = sqrt(group_fold(lanes, squares, 0) / (TX)n) + R(1e-9);
  for (long i = get_local_id(0); i < n; i += LANES) {
    const long at = start + offset_of(i, &reduced);
    PUT_X(y_ + yo, at, (GET_X(x_ + xo, at) - mean) / deviation);
  }
}
#endif

// Long rows in `slices` of `length` elements, a group each.
#if defined(KERNEL_sum_slices) || defined(KERNEL_standardize_slices)
static inline TX sum_of_row(__global uchar* sums_, ulong so, long row, long slices, __local TX* lanes) {
  __global const TX* sums = AT(const TX, sums_, so) + row * slices;
  TX sum = 0;
  for (long i = get_local_id(0); i < slices; i += LANES) sum += sums[i];
  return group_fold(lanes, sum, 0);
}
#endif

#ifdef KERNEL_sum_slices
// Of elements, or with the sums of all slices, of squared distances from the mean.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void sum_slices(__global uchar* x_, ulong xo, __global uchar* sums_, ulong so, __global uchar* y_, ulong yo, Strided kept, Strided reduced, long n,
                long slices, long length) {
  __local TX lanes[LANES];
  const long row = get_group_id(0) / slices, first = get_group_id(0) % slices * length, start = offset_of(row, &kept);
  const TX mean = sums_ == 0 ? 0 : sum_of_row(sums_, so, row, slices, lanes) / (TX)n;
  TX sum = 0;
  for (long i = first + get_local_id(0); i < min(first + length, n); i += LANES) {
    const TX x = GET_X(x_ + xo, start + offset_of(i, &reduced)) - mean;
    sum += sums_ == 0 ? x : x * x;
  }
  sum = group_fold(lanes, sum, 0);
  if (get_local_id(0) == 0) AT(TX, y_, yo)[get_group_id(0)] = sum;
}
#endif

#ifdef KERNEL_standardize_slices
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void standardize_slices(__global uchar* x_, ulong xo, __global uchar* sums_, ulong so, __global uchar* squares_, ulong qo, __global uchar* y_,
                        ulong yo, Strided kept, Strided reduced, long n, long slices, long length) {
  __local TX lanes[LANES];
  const long row = get_group_id(0) / slices, first = get_group_id(0) % slices * length, start = offset_of(row, &kept);
  const TX mean = sum_of_row(sums_, so, row, slices, lanes) / (TX)n;
  const TX deviation = sqrt(sum_of_row(squares_, qo, row, slices, lanes) / (TX)n) + R(1e-9);
  for (long i = first + get_local_id(0); i < min(first + length, n); i += LANES) {
    const long at = start + offset_of(i, &reduced);
    PUT_X(y_ + yo, at, (GET_X(x_ + xo, at) - mean) / deviation);
  }
}
#endif
