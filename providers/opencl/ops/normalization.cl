// Softmax and standardization: a group of LANES work items a row; for processors (STEP): an item several rows, in loops of constant
// length that become vectors. Others: a work item an element.

#ifdef LANES
GROUP_FOLD(TX)
#endif

#ifdef STEP
#define INLINE static inline __attribute__((always_inline))
#ifdef FLOAT_X
#define EXP exponential
#else
#define EXP exp
#endif
// The sum of TERM(i) for i below n: of blocks, whose sums are added, so that long ones lose few digits.
#define SUM(sum, n, TERM)                                             \
  {                                                                   \
    TX blocks[STEP], parts[STEP];                                     \
    for (int j = 0; j < STEP; ++j) blocks[j] = 0;                     \
    long i = 0;                                                       \
    while (i + STEP <= (n)) {                                         \
      const long end = min((n), i + 64 * STEP);                       \
      for (int j = 0; j < STEP; ++j) parts[j] = 0;                    \
      for (; i + STEP <= end; i += STEP) {                            \
        for (int j = 0; j < STEP; ++j) parts[j] += TERM(i + j);       \
      }                                                               \
      for (int j = 0; j < STEP; ++j) blocks[j] += parts[j];           \
    }                                                                 \
    sum = 0;                                                          \
    for (; i < (n); ++i) sum += TERM(i);                              \
    for (int j = 0; j < STEP; ++j) sum += blocks[j];                  \
  }
#endif

#ifdef KERNEL_softmax
// Rows of n elements that lie `stride` apart; row r starts at (r / stride) * n * stride + r % stride.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void softmax(__global uchar* x_, ulong xo, __global uchar* y_, ulong yo, long n, long stride, int logarithm) {
  __local TX lanes[LANES];
  const long row = get_group_id(0), start = row / stride * n * stride + row % stride;
  TX top = -INFINITY;
  for (long i = get_local_id(0); i < n; i += LANES) top = fmax(top, GET_X(x_ + xo, start + i * stride));
  top = group_fold(lanes, top, 1);
  TX sum = 0;
  for (long i = get_local_id(0); i < n; i += LANES) sum += exp(GET_X(x_ + xo, start + i * stride) - top);
  sum = group_fold(lanes, sum, 0);
  const TX shift = logarithm ? log(sum) : 1 / sum;
  for (long i = get_local_id(0); i < n; i += LANES) {
    const TX shifted = GET_X(x_ + xo, start + i * stride) - top;
    PUT_X(y_ + yo, start + i * stride, logarithm ? shifted - shift : exp(shifted) * shift);
  }
}
#endif

#ifdef KERNEL_softmax_rows
INLINE void softmax_row(__global const uchar* x, __global uchar* y, long start, long n, int logarithm) {
#define ELEMENT(i) GET_X(x, start + (i))
#define POWER(i) EXP(ELEMENT(i) - top)
  TX tops[STEP], kept[KEPT], top, sum;
  for (int j = 0; j < STEP; ++j) tops[j] = -INFINITY;
  long i = 0;
  for (; i + STEP <= n; i += STEP) {
    for (int j = 0; j < STEP; ++j) {
      const TX element = ELEMENT(i + j);
      tops[j] = element > tops[j] ? element : tops[j];
    }
  }
  top = tops[0];
  for (int j = 1; j < STEP; ++j) top = fmax(top, tops[j]);
  for (; i < n; ++i) top = fmax(top, ELEMENT(i));
  if (logarithm) {
    SUM(sum, n, POWER)
    const TX shift = log(sum) + top;
    for (i = 0; i < n; ++i) PUT_X(y, start + i, ELEMENT(i) - shift);
  } else if (n <= KEPT) {
    for (i = 0; i + STEP <= n; i += STEP) {
      for (int j = 0; j < STEP; ++j) kept[i + j] = POWER(i + j);
    }
    for (; i < n; ++i) kept[i] = POWER(i);
#define IS_KEPT(i) kept[i]
    SUM(sum, n, IS_KEPT)
    const TX scale = 1 / sum;
    for (i = 0; i < n; ++i) PUT_X(y, start + i, kept[i] * scale);
  } else {
    SUM(sum, n, POWER)
    const TX scale = 1 / sum;
    for (i = 0; i < n; ++i) PUT_X(y, start + i, POWER(i) * scale);
  }
}

// `width` neighbouring lines of n elements, `stride` apart.
INLINE void softmax_across(__global const uchar* x, __global uchar* y, long start, long n, long stride, int logarithm, int width) {
  TX tops[STEP], sums[STEP];
  for (int j = 0; j < width; ++j) tops[j] = -INFINITY, sums[j] = 0;
  for (long i = 0; i < n; ++i) {
    for (int j = 0; j < width; ++j) {
      const TX element = GET_X(x, start + i * stride + j);
      tops[j] = element > tops[j] ? element : tops[j];
    }
  }
  for (long i = 0; i < n; ++i) {
    for (int j = 0; j < width; ++j) sums[j] += EXP(GET_X(x, start + i * stride + j) - tops[j]);
  }
  for (int j = 0; j < width; ++j) sums[j] = logarithm ? log(sums[j]) + tops[j] : 1 / sums[j];
  for (long i = 0; i < n; ++i) {
    TX results[STEP];
    for (int j = 0; j < width; ++j) {
      const TX element = GET_X(x, start + i * stride + j);
      results[j] = logarithm ? element - sums[j] : EXP(element - tops[j]) * sums[j];
    }
    for (int j = 0; j < width; ++j) PUT_X(y, start + i * stride + j, results[j]);
  }
}

// Lines as above: `together` of them an item where they are rows, else STEP neighbours.
__kernel void softmax_rows(__global uchar* x_, ulong xo, __global uchar* y_, ulong yo, long n, long stride, int logarithm, long num_rows, int together) {
  if (stride == 1) {
    const long first = get_global_id(0) * (long)together, last = min(first + together, num_rows);
    for (long row = first; row < last; ++row) softmax_row(x_ + xo, y_ + yo, row * n, n, logarithm);
    return;
  }
  const long blocks = (stride + STEP - 1) / STEP, first = get_global_id(0) % blocks * STEP;
  const long start = get_global_id(0) / blocks * n * stride + first;
  if (stride - first >= STEP) {
    softmax_across(x_ + xo, y_ + yo, start, n, stride, logarithm, STEP);
  } else {
    softmax_across(x_ + xo, y_ + yo, start, n, stride, logarithm, (int)(stride - first));
  }
}
#endif

#ifdef KERNEL_standardize_rows
INLINE void standardize_row(__global const uchar* x, __global const uchar* scale, __global const uchar* bias, __global uchar* y, __global uchar* mean_,
                            __global uchar* inverse_, long row, long n, long parameter, long inner, float epsilon, int center) {
  const long start = row * n;
  TX mean = 0, squares;
#define SQUARE(i) ((ELEMENT(i) - mean) * (ELEMENT(i) - mean))
#define ELEMENT(i) GET_X(x, start + (i))
  if (center) {
    SUM(mean, n, ELEMENT)
    mean /= n;
  }
  SUM(squares, n, SQUARE)
  const TX inverse = 1 / sqrt(squares / n + epsilon);
  if (mean_ != 0) PUT_M(mean_, row, mean);
  if (inverse_ != 0) PUT_M(inverse_, row, inverse);
  if (inner == 1) {
    if (bias != 0) {
      for (long i = 0; i < n; ++i) PUT_Y(y, start + i, (ELEMENT(i) - mean) * inverse * GET_S(scale, parameter + i) + GET_S(bias, parameter + i));
    } else {
      for (long i = 0; i < n; ++i) PUT_Y(y, start + i, (ELEMENT(i) - mean) * inverse * GET_S(scale, parameter + i));
    }
    return;
  }
  for (long first = 0; first < n; first += inner, ++parameter) {
    const TX factor = GET_S(scale, parameter), term = bias != 0 ? GET_S(bias, parameter) : (TX)0;
    const long last = min(n, first + inner);
    for (long i = first; i < last; ++i) PUT_Y(y, start + i, (ELEMENT(i) - mean) * inverse * factor + term);
  }
}

// As below, `together` rows an item.
__kernel void standardize_rows(__global uchar* x_, ulong xo, __global uchar* scale_, ulong so, __global uchar* bias_, ulong bo, __global uchar* y_,
                               ulong yo, __global uchar* mean_, ulong mo, __global uchar* inverse_, ulong io, long n, long period, long step,
                               long inner, float epsilon, int center, long rows, int together) {
  const long first = get_global_id(0) * (long)together, last = min(first + together, rows);
  for (long row = first; row < last; ++row) {
    standardize_row(x_ + xo, scale_ + so, bias_ == 0 ? 0 : bias_ + bo, y_ + yo, mean_ == 0 ? 0 : mean_ + mo, inverse_ == 0 ? 0 : inverse_ + io, row, n,
                    row % period * step, inner, epsilon, center);
  }
}
#endif

#ifdef KERNEL_standardize
// Rows of n elements become (x - mean) / deviation * scale + bias, without mean where center is 0. Element i of row r has
// parameter (r % period) * step + i / inner.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void standardize(__global uchar* x_, ulong xo, __global uchar* scale_, ulong so, __global uchar* bias_, ulong bo, __global uchar* y_,
                 ulong yo, __global uchar* mean_, ulong mo, __global uchar* inverse_, ulong io, long n, long period, long step,
                 long inner, float epsilon, int center) {
  __local TX lanes[LANES];
  const long row = get_group_id(0), start = row * n;
  TX mean = 0;
  if (center) {
    for (long i = get_local_id(0); i < n; i += LANES) mean += GET_X(x_ + xo, start + i);
    mean = group_fold(lanes, mean, 0) / n;
  }
  TX squares = 0;
  for (long i = get_local_id(0); i < n; i += LANES) {
    const TX x = GET_X(x_ + xo, start + i) - mean;
    squares += x * x;
  }
  const TX inverse = 1 / sqrt(group_fold(lanes, squares, 0) / n + epsilon);
  for (long i = get_local_id(0); i < n; i += LANES) {
    const long p = row % period * step + i / inner;
    TX value = (GET_X(x_ + xo, start + i) - mean) * inverse * GET_S(scale_ + so, p);
    if (bias_ != 0) value += GET_S(bias_ + bo, p);
    PUT_Y(y_ + yo, start + i, value);
  }
  if (get_local_id(0) == 0) {
    if (mean_ != 0) PUT_M(mean_ + mo, row, mean);
    if (inverse_ != 0) PUT_M(inverse_ + io, row, inverse);
  }
}
#endif

#ifdef KERNEL_batch_norm
__kernel void batch_norm(ulong total, __global uchar* x_, ulong xo, __global uchar* scale_, ulong so, __global uchar* bias_, ulong bo,
                         __global uchar* mean_, ulong mo, __global uchar* variance_, ulong vo, __global uchar* y_, ulong yo,
                         long plane, long channels, float epsilon) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long c = (long)i / plane % channels;
  const TX scale = GET_S(scale_ + so, c) / sqrt(GET_M(variance_ + vo, c) + epsilon);
  PUT_X(y_ + yo, i, (GET_X(x_ + xo, i) - GET_M(mean_ + mo, c)) * scale + GET_S(bias_ + bo, c));
}
#endif
