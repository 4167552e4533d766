// y = OP(a[, b[, c]]) with broadcasting. The host defines TA, TB, TC, TY and OP(a, b, c).
typedef struct { int rank; int padding; long dims[8]; long a[8]; long b[8]; long c[8]; } Strided;
#define AT(type, buffer, offset) ((__global type*)((__global uchar*)(buffer) + (offset)))

float erf_(float x) { return erf(x); }
float gelu_(float x) { return 0.5f * x * (1.0f + erf(x * 0.70710678f)); }
float gelu_tanh_(float x) { return 0.5f * x * (1.0f + tanh(0.79788456f * (x + 0.044715f * x * x * x))); }
float sigmoid_(float x) { return 1.0f / (1.0f + exp(-x)); }

__kernel void flat(__global uchar* a_, ulong ao, __global uchar* b_, ulong bo, __global uchar* c_, ulong co, __global uchar* y_,
                   ulong yo, int step_a, int step_b, int step_c, float alpha, float beta) {
  const size_t i = get_global_id(0);
  __global const TA* pa = AT(TA, a_, ao);
  __global const TB* pb = AT(TB, b_, bo);
  __global const TC* pc = AT(TC, c_, co);
  const TA a = pa[i * step_a];
  const TB b = pb[i * step_b];
  const TC c = pc[i * step_c];
  AT(TY, y_, yo)[i] = (TY)(OP);
}

__kernel void broadcast(__global uchar* a_, ulong ao, __global uchar* b_, ulong bo, __global uchar* c_, ulong co, __global uchar* y_,
                        ulong yo, Strided s, float alpha, float beta) {
  const size_t i = get_global_id(0);
  long rest = (long)i, ia = 0, ib = 0, ic = 0;
  for (int d = s.rank - 1; d >= 0; --d) {
    const long at = rest % s.dims[d];
    rest /= s.dims[d];
    ia += at * s.a[d];
    ib += at * s.b[d];
    ic += at * s.c[d];
  }
  const TA a = AT(TA, a_, ao)[ia];
  const TB b = AT(TB, b_, bo)[ib];
  const TC c = AT(TC, c_, co)[ic];
  AT(TY, y_, yo)[i] = (TY)(OP);
}
