// Heads of new tokens to where attention reads them, rotated by their positions on the way; and rows that a cache keeps.
typedef struct { long batch, steps, heads, width, half_width, x_row, x_first, y_batch, y_head, y_row; int rotated, interleaved, appends; } Parts;

#ifdef KERNEL_place
// facts: rows of the past by batch, all rows by batch, positions of tokens. `appends`: rows go behind the past's.
__kernel void place(ulong total, __global uchar* x_, ulong xo, __global uchar* cosine_, ulong co, __global uchar* sine_, ulong so,
                    __global uchar* facts_, ulong fo, __global uchar* y_, ulong yo, Parts p) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long at = (long)i % p.width, h = (long)i / p.width % p.heads, token = (long)i / p.width / p.heads;
  const long b = token / p.steps, step = token % p.steps, base = token * p.x_row + p.x_first + h * p.width;
  __global const long* facts = AT(const long, facts_, fo);
  TX value = GET_X(x_ + xo, base + at);
  if (p.rotated && at < 2 * p.half_width) {
    const long pair = p.interleaved ? at / 2 : at % p.half_width, row = facts[2 * p.batch + token] * p.half_width;
    const int second = p.interleaved ? at % 2 : at >= p.half_width;
    const long partner = p.interleaved ? at ^ 1 : second ? at - p.half_width : at + p.half_width;
    const TX other = GET_X(x_ + xo, base + partner), cosine = GET_X(cosine_ + co, row + pair), sine = GET_X(sine_ + so, row + pair);
    value = second ? value * cosine + other * sine : value * cosine - other * sine;
  }
  PUT_X(y_ + yo, b * p.y_batch + h * p.y_head + (step + (p.appends ? facts[b] : 0)) * p.y_row + at, value);
}
#endif

#ifdef KERNEL_keep
// The past's rows, and zeros behind the new ones, which `place` writes.
__kernel void keep(ulong total, __global uchar* past_, ulong po, __global uchar* facts_, ulong fo, __global uchar* y_, ulong yo, long batch,
                   long heads, long held, long capacity, long width) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long at = (long)i % width, row = (long)i / width % capacity, plane = (long)i / width / capacity, b = plane / heads;
  __global const long* facts = AT(const long, facts_, fo);
  if (row < facts[b]) PUT_X(y_ + yo, i, GET_X(past_ + po, (plane * held + row) * width + at));
  if (row >= facts[batch + b]) PUT_X(y_ + yo, i, (TX)0);
}
#endif
