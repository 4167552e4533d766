// Stands before every kernel's text.
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// Launches may be divided (pace.h): groups are counted as in the whole of it. (In a whole launch get_global_size tells its size; a dimension
// that is asked for is not divided.)
#define get_group_id(d) (get_group_id(d) + get_global_offset(d) / get_local_size(d))

// A tensor argument is a buffer and a byte offset.
#define AT(type, buffer, offset) ((__global type*)((__global uchar*)(buffer) + (offset)))

// What becomes of an element of a product: what its operator's epilogue makes of it, unless that needs to know its row and column.
#define RESULT(value, at, row, column) EPILOGUE(value, at)
#define TR TX
#define PUT_R PUT_X

// The same struct stands in kernel.h.
typedef struct { int rank; int padding; long dims[8]; long a[8]; long b[8]; long c[8]; } Strided;
// Of element i of the block, by the strides `a`.
static inline long offset_of(long i, const Strided* s) {
  long at = 0;
  for (int d = s->rank - 1; d > 0; --d) {
    at += i % s->dims[d] * s->a[d];
    i /= s->dims[d];
  }
  return at + i * s->a[0];
}

// For processors: rows of a strided block, along its last dimension, `together` of them an item where they are short, ROW_PIECE elements of one
// where they are longer; see Launchable::Lines. Within, `row` is the row, and elements are [begin, end).
#define EACH_ROW(size, rows, together)                                                                                      \
  const long begin = get_global_id(0) * (long)ROW_PIECE, end = min((long)(size), begin + ROW_PIECE), first_row = get_global_id(1) * (long)(together); \
  for (long row = first_row; row < min(first_row + (together), (long)(rows)); ++row)

// A window over up to three spatial dimensions; the same struct stands in window.h.
typedef struct { int in[3], out[3], window[3], stride[3], dilation[3], pad[3]; int channels, filters, group_in, group_out; } Geometry;

static inline float load_bfloat16(__global const ushort* p, long i) { return as_float((uint)p[i] << 16); }
static inline ushort to_bfloat16(float value) {
  const uint bits = as_uint(value);
  return isnan(value) ? (ushort)0x7fc0 : (ushort)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
static inline void store_bfloat16(__global ushort* p, long i, float value) { p[i] = to_bfloat16(value); }
// Values between operators of such types.
static inline float round_bfloat16(float value) { return as_float((uint)to_bfloat16(value) << 16); }
static inline float round_half(float value) {
  ushort stored;
  vstore_half_rte(value, 0, (half*)&stored);
  return vload_half(0, (const half*)&stored);
}

// The larger one; NaN where either is.
#define MAX_OR_NAN(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))

// rint of numbers below 2^22, without calls or branches.
static inline __attribute__((always_inline)) float nearest(float x) { return (x + 12582912.0f) - 12582912.0f; }

// Nearest to x / s also where the device's own division is a little off.
static inline float quotient(float x, float s) {
  const float q = x / s, off = fma(-q, s, x) / s;
  return q - q == 0 && off - off == 0 ? q + off : q;  // where both are finite
}

// The integer nearest to q, plus a zero point, within the range of a quantized value's type, of 16 bits at most.
static inline __attribute__((always_inline)) float quantized_of(float q, float zero, float lowest, float highest) {
  return clamp(nearest(clamp(q, -1e6f, 1e6f)) + zero, lowest, highest);
}

// exp of what is not near the largest float, within two units of the last place, without calls, so that compilers for processors make vectors of it.
static inline __attribute__((always_inline)) float exponential(float x) {
  const float n = nearest(x * 1.44269504f), f = x - n * 0.693147182f + n * 1.90465421e-9f;
  float power = 1.98412698e-4f;
  power = power * f + 1.38888889e-3f;
  power = power * f + 8.33333333e-3f;
  power = power * f + 4.16666667e-2f;
  power = power * f + 1.66666667e-1f;
  power = power * f + 0.5f;
  power = power * f + 1.0f;
  power = power * f + 1.0f;
  return x < -87.0f ? 0.0f : x > 88.0f ? INFINITY : power * as_float(((int)n + 127) << 23);
}

// Far from 0 these are 1 exactly; drivers' own are a unit less there, and not a number where a power within them overflows.
#define SATURATED(name, type, function, from)                                        \
  static inline __attribute__((always_inline)) type name(type x) {                   \
    return fabs(x) > (type)(from) ? copysign((type)1, x) : function(x);              \
  }
SATURATED(tanh_float, float, tanh, 9.02f)
SATURATED(erf_float, float, erf, 3.92f)
#ifdef cl_khr_fp64
SATURATED(tanh_double, double, tanh, 19.07)
SATURATED(erf_double, double, erf, 5.93)
#endif

// Defines group_fold: the sum, or the maximum, of what the LANES work items of a group bring. What holds a barrier is always inlined:
// where it stays a function, pocl 3.1 does not keep all work items at it.
#define GROUP_FOLD(T)                                                                                                        \
  static inline __attribute__((always_inline)) T group_fold(__local T* lanes, T mine, int maximum) {                         \
    const int lane = get_local_id(0);                                                                                        \
    lanes[lane] = mine;                                                                                                      \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                            \
    for (int width = LANES / 2; width > 0; width /= 2) {                                                                     \
      if (lane < width) lanes[lane] = maximum ? fmax(lanes[lane], lanes[lane + width]) : lanes[lane] + lanes[lane + width];  \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                                          \
    }                                                                                                                        \
    const T result = lanes[0];                                                                                               \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                            \
    return result;                                                                                                           \
  }
