// What expressions of elementwise operators call, in the type TA.

// Integer division by 0 gives 0; the smallest number divided by -1 wraps. Types narrower than int are divided as int, which holds that.
#define IS_MINUS_ONE(x) ((TA)(-1) < 0 ? (x) == (TA)(-1) : 0)
#define MAY_OVERFLOW(divisor) (sizeof(TA) < sizeof(int) ? 0 : IS_MINUS_ONE(divisor))
#define DIVIDE(a, b) ((b) == 0 ? (TA)0 : MAY_OVERFLOW(b) ? (TA)((WA)0 - (WA)(a)) : (TA)((a) / (b)))
#define REMAINDER(a, b) ((b) == 0 || MAY_OVERFLOW(b) ? 0 : (a) % (b))

#ifdef REAL_A
#ifdef FLOAT_A
#define saturated_tanh tanh_float
#define saturated_erf erf_float
// The error function within a few units of the last place, without branches or calls, so that compilers make vectors of it: a
// polynomial near 0, elsewhere 1 - exp(polynomial). A NaN passes through all of it (selected at the end, it makes Mesa 25.0's
// llvmpipe compute garbage for numbers).
static inline __attribute__((always_inline)) float error_function(float x) {
  const float t = fabs(x) > 4.0f ? 4.0f : fabs(x), s = t * t;
  float near = -5.96761703e-4f;
  near = near * s + 4.99119423e-3f;
  near = near * s - 2.67681349e-2f;
  near = near * s + 1.12819925e-1f;
  near = near * s - 3.76125336e-1f;
  near = near * s + 1.28379166e-1f;
  near = near * t + t;
  float far = (-1.72853470e-5f * t + 3.83197126e-4f) * s + (-3.88396438e-3f * t + 2.42546219e-2f);
  far = far * t - 1.06777877e-1f;
  far = far * t - 6.34846687e-1f;
  far = far * t - 1.28717512e-1f;
  far = far * t - t;
  far = 1.0f - exponential(far);
  return copysign(t > 0.927734375f ? far : near, x);
}
#else
#define saturated_tanh tanh_double
#define saturated_erf erf_double
#define error_function(x) erf(x)
#endif
static inline __attribute__((always_inline)) TA erf_gelu(TA x) { return R(0.5) * x * (R(1.0) + error_function(x * R(0.7071067811865476))); }
static inline TA tanh_gelu(TA x) { return R(0.5) * x * (R(1.0) + saturated_tanh(R(0.7978845608028654) * (x + R(0.044715) * x * x * x))); }
static inline TA sigmoid(TA x) { return R(1.0) / (R(1.0) + exp(-x)); }
static inline TA softplus(TA x) { return (x > 0 ? x : (TA)0) + log1p(exp(-fabs(x))); }
static inline TA modulo(TA a, TA b) {
  const TA r = fmod(a, b);
  return r == 0 ? copysign((TA)0, b) : (r < 0) != (b < 0) ? r + b : r;
}
// What does not fit is the smallest integer.
static inline int to_int(TA x) { return x >= R(-2147483648.0) && x < R(2147483648.0) ? (int)x : INT_MIN; }
static inline long to_long(TA x) { return x >= R(-9223372036854775808.0) && x < R(9223372036854775808.0) ? (long)x : LONG_MIN; }
#else
static inline TA modulo(TA a, TA b) {
  // Not in a variable of a narrow type: x86 compilers of Mesa 25.0 (LLVM 19) end the process over selected bytes.
  return REMAINDER(a, b) != 0 && (REMAINDER(a, b) < 0) != (b < 0) ? (TA)(REMAINDER(a, b) + b) : (TA)REMAINDER(a, b);
}
// The power of an integer, which wraps; a negative exponent gives the reciprocal, truncated.
static inline TA power(TA base, long exponent) {
  if (exponent < 0) return base == 1 ? (TA)1 : IS_MINUS_ONE(base) ? (TA)(exponent & 1 ? -1 : 1) : (TA)0;
  WA result = 1, factor = (WA)base;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result *= factor;
    factor *= factor;
  }
  return (TA)result;
}
#endif
