// Turns pairs of each head's first 2 * half elements by angles whose cosines and sines stand in caches; the others stay.
typedef struct { long heads, steps, width, half_width; int packed, interleaved, one; float scale; } Sizes;

__kernel void rotate_heads(ulong total, __global uchar* x_, ulong xo, __global uchar* cosine_, ulong co, __global uchar* sine_, ulong so,
                   __global uchar* positions_, ulong po, __global uchar* y_, ulong yo, Sizes s) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long at = (long)i % s.width, vector = (long)i / s.width, base = (long)i - at;
  const TX own = GET_X(x_ + xo, i);
  if (at >= 2 * s.half_width) {
    PUT_X(y_ + yo, i, own * s.scale);
    return;
  }
  const long token = s.packed ? vector / s.heads : vector / (s.heads * s.steps) * s.steps + vector % s.steps;
  long row = token;
  if (positions_ != 0) row = s.one ? AT(const long, positions_, po)[0] + token % s.steps : AT(const long, positions_, po)[token];
  const long pair = s.interleaved ? at / 2 : at % s.half_width;
  const int second = s.interleaved ? at % 2 : at >= s.half_width;
  const long partner = s.interleaved ? at ^ 1 : second ? at - s.half_width : at + s.half_width;
  const TX other = GET_X(x_ + xo, base + partner);
  const TX cosine = GET_C(cosine_ + co, row * s.half_width + pair), sine = GET_C(sine_ + so, row * s.half_width + pair);
  PUT_X(y_ + yo, i, (second ? own * cosine + other * sine : own * cosine - other * sine) * s.scale);
}
