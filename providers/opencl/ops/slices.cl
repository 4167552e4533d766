// Slices of `inner` elements whose places, first elements' offsets, the host has worked out and checked; rows that follow others.

#ifdef KERNEL_gather_slices
__kernel void gather_slices(ulong total, __global uchar* x_, ulong xo, __global uchar* offsets_, ulong oo, __global uchar* y_, ulong yo,
                            long inner) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  PUT_X(y_ + yo, i, GET_X(x_ + xo, AT(const long, offsets_, oo)[(long)i / inner] + (long)i % inner));
}
#endif

#ifdef KERNEL_reverse_sequence
// x and y: [time, entries, inner], or [entries, time, inner]; `second`: their second dimension. The first lengths[entry] steps of an
// entry change their order.
__kernel void reverse_sequence(ulong total, __global uchar* x_, ulong xo, __global uchar* lengths_, ulong lo, __global uchar* y_, ulong yo,
                               long second, long inner, int time_first) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long row = (long)i / inner, outer = row / second, within = row % second;
  const long time = time_first ? outer : within, entry = time_first ? within : outer, length = AT(const long, lengths_, lo)[entry];
  const long from = time < length ? length - 1 - time : time;
  PUT_X(y_ + yo, i, GET_X(x_ + xo, (time_first ? from * second + within : outer * second + from) * inner + (long)i % inner));
}
#endif

#ifdef KERNEL_scatter_slices
__kernel void scatter_slices(ulong total, __global uchar* updates_, ulong uo, __global uchar* offsets_, ulong oo, __global uchar* y_,
                             ulong yo, long inner) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  PUT_X(y_ + yo, AT(const long, offsets_, oo)[(long)i / inner] + (long)i % inner, GET_X(updates_ + uo, i));
}
#endif

// Updates of one target are combined in their order by one work item, of many the first PIECE; each PIECE of the others by another before.
// `plan`: for each target its offset, where its updates begin in the list that follows, and the first of its pieces, groups + 1 times three;
// behind the last target a negative offset and the ends; the list; where pieces begin and end in it.
#ifdef KERNEL_combine_pieces
__kernel void combine_pieces(ulong total, __global uchar* updates_, ulong uo, __global uchar* plan_, ulong po, __global uchar* pieces_, ulong pio,
                             long inner, long groups) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  __global const long* order = AT(const long, plan_, po) + 3 * (groups + 1);
  __global const long* piece = order + groups + 2 * ((long)i / inner);
  const long column = (long)i % inner;
  if (piece[0] == piece[1]) return;
  TX value = GET_X(updates_ + uo, order[piece[0]] * inner + column);
  for (long u = piece[0] + 1; u < piece[1]; ++u) {
    const TX update = GET_X(updates_ + uo, order[u] * inner + column);
    value = COMBINE;
  }
  AT(TX, pieces_, pio)[i] = value;
}
#endif

#ifdef KERNEL_combine_slices
__kernel void combine_slices(ulong total, __global uchar* updates_, ulong uo, __global uchar* plan_, ulong po, __global uchar* pieces_, ulong pio,
                             __global uchar* y_, ulong yo, long inner, long groups) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  __global const long* order = AT(const long, plan_, po) + 3 * (groups + 1);
  __global const long* target = AT(const long, plan_, po) + 3 * ((long)i / inner);
  const long column = (long)i % inner, at = target[0] + column;
  if (target[0] < 0) return;
  TX value = GET_X(y_ + yo, at);
  for (long u = target[1]; u < min(target[4], target[1] + PIECE); ++u) {
    const TX update = GET_X(updates_ + uo, order[u] * inner + column);
    value = COMBINE;
  }
  for (long piece = target[2]; piece < target[5]; ++piece) {
    const TX update = AT(const TX, pieces_, pio)[piece * inner + column];
    value = COMBINE;
  }
  PUT_X(y_ + yo, at, value);
}
#endif

#ifdef KERNEL_append
// y[batch, head, row, column]: rows of the past, then the new ones, which have strides of their own.
__kernel void append(ulong total, __global uchar* past_, ulong po, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, long heads,
                     long before, long rows, long width, long x_batch, long x_head, long x_row) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long column = (long)i % width, row = (long)i / width % rows, plane = (long)i / width / rows;
  if (row < before) {
    PUT_X(y_ + yo, i, GET_X(past_ + po, (plane * before + row) * width + column));
  } else {
    PUT_X(y_ + yo, i, GET_X(x_ + xo, plane / heads * x_batch + plane % heads * x_head + (row - before) * x_row + column));
  }
}
#endif
