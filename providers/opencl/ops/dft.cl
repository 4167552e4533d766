// Fourier transforms as sums over a table of twiddle factors: for lengths at which a fast transform would not pay on many small work groups.

#ifdef KERNEL_twiddle_factors
// Cosine and sine of k of n parts of a turn.
__kernel void twiddle_factors(ulong total, __global uchar* y_, ulong yo) {
  const ulong k = get_global_id(0);
  if (k >= total) return;
  const TX turns = (TX)(2 * k) / (TX)total;
  AT(TX, y_, yo)[2 * k] = cospi(turns);
  AT(TX, y_, yo)[2 * k + 1] = sinpi(turns);
}
#endif

#ifdef KERNEL_transform
// The same struct stands in fourier_transform.h. Signal s begins at s / period * outer + s % period * hop.
typedef struct {
  long period, outer, hop, step;  // elements between signals, and from point to point
  long inner;                     // signals of the result that lie interleaved
  int points, length, bins, components;
} Signals;

// One work item computes one bin of one signal.
__kernel void transform(ulong total, __global uchar* x_, ulong xo, __global uchar* window_, ulong wo, __global uchar* table_, ulong to,
                        __global uchar* y_, ulong yo, Signals s) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long at = (long)i % s.inner, bin = (long)i / s.inner % s.bins, signal = (long)i / s.inner / s.bins * s.inner + at;
  const long base = signal / s.period * s.outer + signal % s.period * s.hop;
  __global const TX* table = AT(const TX, table_, to);
  TX re = 0, im = 0;
  int turn = 0;  // bin * j, in parts of a turn
  for (int j = 0; j < s.points; ++j) {
    const TX weight = window_ != 0 ? GET_X(window_ + wo, j) : (TX)1;
    const TX x = weight * GET_X(x_ + xo, base + j * s.step);
    const TX y = s.components == 2 ? weight * GET_X(x_ + xo, base + j * s.step + 1) : (TX)0;
    const TX cosine = table[2 * turn], sine = table[2 * turn + 1];
    re += x * cosine + y * sine;
    im += y * cosine - x * sine;
    turn += (int)bin;
    if (turn >= s.length) turn -= s.length;
  }
  PUT_X(y_ + yo, 2 * i, re);
  PUT_X(y_ + yo, 2 * i + 1, im);
}
#endif
