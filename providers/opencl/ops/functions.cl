// What expressions of elementwise operators call, in the type TA.

// Integer division by 0 gives 0; the smallest number divided by -1 wraps.
#define IS_MINUS_ONE(x) ((TA)(-1) < 0 ? (x) == (TA)(-1) : 0)
#define DIVIDE(a, b) ((b) == 0 ? (TA)0 : IS_MINUS_ONE(b) ? (TA)((WA)0 - (WA)(a)) : (TA)((a) / (b)))
#define REMAINDER(a, b) ((b) == 0 || IS_MINUS_ONE(b) ? (TA)0 : (TA)((a) % (b)))

#ifdef REAL_A
inline TA erf_gelu(TA x) { return R(0.5) * x * (R(1.0) + erf(x * R(0.7071067811865476))); }
inline TA tanh_gelu(TA x) { return R(0.5) * x * (R(1.0) + tanh(R(0.7978845608028654) * (x + R(0.044715) * x * x * x))); }
inline TA sigmoid(TA x) { return R(1.0) / (R(1.0) + exp(-x)); }
inline TA softplus(TA x) { return (x > 0 ? x : (TA)0) + log1p(exp(-fabs(x))); }
inline TA modulo(TA a, TA b) {
  const TA r = fmod(a, b);
  return r == 0 ? copysign((TA)0, b) : (r < 0) != (b < 0) ? r + b : r;
}
// What does not fit is the smallest integer.
inline int to_int(TA x) { return x >= R(-2147483648.0) && x < R(2147483648.0) ? (int)x : INT_MIN; }
inline long to_long(TA x) { return x >= R(-9223372036854775808.0) && x < R(9223372036854775808.0) ? (long)x : LONG_MIN; }
#else
inline TA modulo(TA a, TA b) {
  const TA r = REMAINDER(a, b);
  return r != 0 && (r < 0) != (b < 0) ? (TA)(r + b) : r;
}
// The power of an integer, which wraps; a negative exponent gives the reciprocal, truncated.
inline TA power(TA base, long exponent) {
  if (exponent < 0) return base == 1 ? (TA)1 : IS_MINUS_ONE(base) ? (TA)(exponent & 1 ? -1 : 1) : (TA)0;
  WA result = 1, factor = (WA)base;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result *= factor;
    factor *= factor;
  }
  return (TA)result;
}
#endif
