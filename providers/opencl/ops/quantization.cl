// Quantization: a scale and a zero point belong to the tensor, to each index of an axis, or to each block along an axis.
typedef struct { long count, inner, block, blocks; int single, padding; } Layout;

static inline long scale_of(long i, Layout l) {
  if (l.single) return 0;
  const long row = i / l.inner, c = row % l.count;
  return l.block == 0 ? c : (row / l.count * l.blocks + c / l.block) * l.inner + i % l.inner;
}

static inline float rounded_to_half(float v) {
  ushort bits;
  vstore_half_rte(v, 0, (half*)&bits);
  return vload_half(0, (half*)&bits);
}
static inline float rounded_to_bfloat16(float v) {
  const uint bits = as_uint(v);
  return isnan(v) ? v : as_float((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}

#if defined(KERNEL_quantize) || defined(KERNEL_quantize_all)
#define QUANTIZE(q, zero) quantized_of(q, zero, LOWEST, HIGHEST)
#ifdef FLOAT8
#define QUANTIZED(q, zero) ((zero) != 0 ? (q) + (zero) : (q))  // a zero point of 0 is not added: -0 stays
#else
#define QUANTIZED(q, zero) QUANTIZE(q, zero)
#endif
#endif

#ifdef KERNEL_quantize_all
// One scale for all, and nothing else that keeps compilers for processors from making vectors of work items.
__kernel void quantize_all(ulong total, __global uchar* x_, ulong xo, __global uchar* scale_, ulong so, __global uchar* zero_, ulong zo,
                           __global uchar* y_, ulong yo) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
#ifdef HAS_ZERO
  const float zero = (float)GET_Y(zero_ + zo, 0);
#else
  const float zero = 0;
#endif
  const float q = ROUND(quotient(ROUND(GET_X(x_ + xo, i)), ROUND(GET_S(scale_ + so, 0))));
  PUT_Y(y_ + yo, i, QUANTIZED(q, zero));
}
#endif

#ifdef KERNEL_quantize

__kernel void quantize(ulong total, __global uchar* x_, ulong xo, __global uchar* scale_, ulong so, __global uchar* zero_, ulong zo,
                       __global uchar* y_, ulong yo, Layout layout, int one_zero, long count) {
  const ulong item = get_global_id(0);
  if (item >= total) return;
#ifdef BITS
  // The first of a byte's quantized values stands in its lowest bits.
  uint byte = 0;
  for (long i = (long)item * (8 / BITS), shift = 0; shift < 8 && i < count; ++i, shift += BITS) {
#else
  const long i = (long)item;
#endif
    const long at = scale_of(i, layout);
    const float q = ROUND(quotient(ROUND(GET_X(x_ + xo, i)), ROUND(GET_S(scale_ + so, at))));
    const float zero = zero_ != 0 ? (float)GET_Y(zero_ + zo, one_zero ? 0 : at) : 0.0f;
#if defined(BITS)
    byte |= ((uint)(int)QUANTIZE(q, zero) & ((1u << BITS) - 1)) << shift;
  }
  AT(uchar, y_, yo)[item] = (uchar)byte;
#else
    PUT_Y(y_ + yo, i, QUANTIZED(q, zero));
#endif
}
#endif

#ifdef FLOAT8
#define DIFFERENCE float
#elif !defined(DIFFERENCE)
#define DIFFERENCE long
#endif

#ifdef KERNEL_dequantize_all
// One scale for all: as quantize_all.
__kernel void dequantize_all(ulong total, __global uchar* x_, ulong xo, __global uchar* scale_, ulong so, __global uchar* zero_, ulong zo,
                             __global uchar* y_, ulong yo) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
#ifdef HAS_ZERO
  const DIFFERENCE zero = (DIFFERENCE)GET_X(zero_ + zo, 0);
#else
  const DIFFERENCE zero = 0;
#endif
  PUT_Y(y_ + yo, i, (float)((DIFFERENCE)GET_X(x_ + xo, i) - zero) * GET_S(scale_ + so, 0));
}
#endif

#ifdef KERNEL_dequantize
__kernel void dequantize(ulong total, __global uchar* x_, ulong xo, __global uchar* scale_, ulong so, __global uchar* zero_, ulong zo,
                         __global uchar* y_, ulong yo, Layout layout, int one_zero, long count) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long at = scale_of((long)i, layout);
  const DIFFERENCE zero = zero_ != 0 ? (DIFFERENCE)GET_X(zero_ + zo, one_zero ? 0 : at) : 0;
  PUT_Y(y_ + yo, i, (float)((DIFFERENCE)GET_X(x_ + xo, i) - zero) * GET_S(scale_ + so, at));
}
#endif

#ifdef KERNEL_extremes
// Group g: the smallest and the largest of its share, and 0.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void extremes(__global uchar* x_, ulong xo, __global uchar* parts_, ulong po, long count, long items) {
  __local float low[LANES], high[LANES];
  const int lane = get_local_id(0);
  float smallest = 0, largest = 0;
  for (long i = get_global_id(0); i < count; i += items) {
    const float x = AT(const float, x_, xo)[i];
    smallest = fmin(smallest, x);
    largest = fmax(largest, x);
  }
  low[lane] = smallest;
  high[lane] = largest;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int width = LANES / 2; width > 0; width /= 2) {
    if (lane < width) {
      low[lane] = fmin(low[lane], low[lane + width]);
      high[lane] = fmax(high[lane], high[lane + width]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) {
    AT(float, parts_, po)[2 * get_group_id(0)] = low[0];
    AT(float, parts_, po)[2 * get_group_id(0) + 1] = high[0];
  }
}
#endif

#ifdef KERNEL_extremes_of_part
// The same for processors: an item goes through `each` neighbours, by vectors.
__kernel void extremes_of_part(__global uchar* x_, ulong xo, __global uchar* parts_, ulong po, long count, long each) {
  __global const float* x = AT(const float, x_, xo);
  const long end = min(((long)get_global_id(0) + 1) * each, count);
  long i = get_global_id(0) * each;
  float16 low = 0, high = 0;
  for (; i + 16 <= end; i += 16) {
    const float16 v = vload16(0, x + i);
    low = v < low ? v : low;
    high = v > high ? v : high;
  }
  float lows[16], highs[16];
  vstore16(low, 0, lows);
  vstore16(high, 0, highs);
  for (int lane = 0; lane < 16; ++lane) {
    if (i + lane < end) lows[lane] = fmin(lows[lane], x[i + lane]);
    if (i + lane < end) highs[lane] = fmax(highs[lane], x[i + lane]);
    lows[0] = fmin(lows[0], lows[lane]);
    highs[0] = fmax(highs[0], highs[lane]);
  }
  AT(float, parts_, po)[2 * get_global_id(0)] = lows[0];
  AT(float, parts_, po)[2 * get_global_id(0) + 1] = highs[0];
}
#endif

#ifdef KERNEL_choose_scale
__kernel void choose_scale(ulong total, __global uchar* parts_, ulong po, __global uchar* scale_, ulong so, __global uchar* zero_, ulong zo,
                           int parts) {
  if (get_global_id(0) >= total) return;
  float smallest = 0, largest = 0;
  for (int i = 0; i < parts; ++i) {
    smallest = fmin(smallest, AT(const float, parts_, po)[2 * i]);
    largest = fmax(largest, AT(const float, parts_, po)[2 * i + 1]);
  }
  const float range = largest - smallest, scale = quotient(range == 0 ? 1.0f : range, 255.0f);
  const float zero = rint(quotient(-smallest, scale));
  AT(float, scale_, so)[0] = scale;
  AT(uchar, zero_, zo)[0] = zero > 0 ? (uchar)fmin(zero, 255.0f) : (uchar)0;
}
#endif
