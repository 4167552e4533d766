// Rows of `n` elements in `slices` of `length`, a group of LANES work items each: what groups sum of their slices, others join. Row r starts
// where `kept` has its index r; its elements lie where `reduced` has theirs.
GROUP_FOLD(TX)

#define SLICE                                                                                                      \
  __local TX lanes[LANES];                                                                                         \
  const long row = get_group_id(0) / slices, first = get_group_id(0) % slices * length, end = min(first + length, n); \
  const long start = offset_of(row, &kept);
#define EACH_ELEMENT for (long i = first + get_local_id(0); i < end; i += LANES)

#if defined(KERNEL_sum_slices) || defined(KERNEL_standardize_slices)
static inline __attribute__((always_inline)) TX sum_of_row(__global uchar* sums_, ulong so, long row, long slices, __local TX* lanes) {
  __global const TX* sums = AT(const TX, sums_, so) + row * slices;
  TX sum = 0;
  for (long i = get_local_id(0); i < slices; i += LANES) sum += sums[i];
  return group_fold(lanes, sum, 0);
}
#endif

#ifdef KERNEL_sum_slices
// Of elements, or of squared distances from the mean, which is 0 where there are no sums.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void sum_slices(__global uchar* x_, ulong xo, __global uchar* sums_, ulong so, __global uchar* y_, ulong yo, Strided kept, Strided reduced, long n,
                long slices, long length, int squares) {
  SLICE
  const TX mean = sums_ == 0 ? (TX)0 : sum_of_row(sums_, so, row, slices, lanes) / (TX)n;
  TX sum = 0;
  EACH_ELEMENT {
    const TX x = GET_X(x_ + xo, start + offset_of(i, &reduced)) - mean;
    sum += squares ? x * x : x;
  }
  sum = group_fold(lanes, sum, 0);
  if (get_local_id(0) == 0) AT(TX, y_, yo)[get_group_id(0)] = sum;
}
#endif

#ifdef KERNEL_standardize_slices
// (x - mean) / (sqrt(variance + epsilon) + term) * scale + bias; element i of row r has parameter (r % period) * step + i / inner.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void standardize_slices(__global uchar* x_, ulong xo, __global uchar* sums_, ulong so, __global uchar* squares_, ulong qo, __global uchar* scale_,
                        ulong sco, __global uchar* bias_, ulong bo, __global uchar* y_, ulong yo, __global uchar* mean_, ulong mo,
                        __global uchar* inverse_, ulong io, Strided kept, Strided reduced, long n, long slices, long length, long period,
                        long step, long inner, float epsilon, float term) {
  SLICE
  const TX mean = sums_ == 0 ? (TX)0 : sum_of_row(sums_, so, row, slices, lanes) / (TX)n;
  const TX inverse = 1 / (sqrt(sum_of_row(squares_, qo, row, slices, lanes) / (TX)n + epsilon) + term);
  EACH_ELEMENT {
    const long at = start + offset_of(i, &reduced), p = row % period * step + i / inner;
    TX value = (GET_X(x_ + xo, at) - mean) * inverse;
    if (scale_ != 0) value *= GET_S(scale_ + sco, p);
    if (bias_ != 0) value += GET_S(bias_ + bo, p);
    PUT_Y(y_ + yo, at, value);
  }
  if (first > 0 || get_local_id(0) > 0) return;
  if (mean_ != 0) PUT_M(mean_ + mo, row, mean);
  if (inverse_ != 0) PUT_M(inverse_ + io, row, inverse);
}
#endif

#ifdef KERNEL_softmax_parts
// The largest element of a slice, and the sum of powers relative to it.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void softmax_parts(__global uchar* x_, ulong xo, __global uchar* parts_, ulong po, Strided kept, Strided reduced, long n, long slices, long length) {
  SLICE
  TX top = -INFINITY, sum = 0;
  EACH_ELEMENT top = fmax(top, GET_X(x_ + xo, start + offset_of(i, &reduced)));
  top = group_fold(lanes, top, 1);
  const TX shift = isinf(top) ? (TX)0 : top;
  EACH_ELEMENT sum += exp(GET_X(x_ + xo, start + offset_of(i, &reduced)) - shift);
  sum = group_fold(lanes, sum, 0);
  if (get_local_id(0) > 0) return;
  __global TX* part = AT(TX, parts_, po) + 2 * get_group_id(0);
  part[0] = top == -INFINITY ? top : shift;
  part[1] = sum;
}
#endif

#ifdef KERNEL_softmax_slices
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void softmax_slices(__global uchar* x_, ulong xo, __global uchar* parts_, ulong po, __global uchar* y_, ulong yo, Strided kept, Strided reduced,
                    long n, long slices, long length, int logarithm) {
  SLICE
  __global const TX* parts = AT(const TX, parts_, po) + 2 * row * slices;
  TX top = -INFINITY, sum = 0;
  for (long i = get_local_id(0); i < slices; i += LANES) top = fmax(top, parts[2 * i]);
  top = group_fold(lanes, top, 1);
  for (long i = get_local_id(0); i < slices; i += LANES) sum += parts[2 * i + 1] * exp(parts[2 * i] - top);
  sum = group_fold(lanes, sum, 0);
  const TX shift = logarithm ? log(sum) : 1 / sum;
  EACH_ELEMENT {
    const long at = start + offset_of(i, &reduced);
    const TX shifted = GET_X(x_ + xo, at) - top;
    PUT_Y(y_ + yo, at, logarithm ? shifted - shift : exp(shifted) * shift);
  }
}
#endif
