// A reduction over some dimensions. LANES work items compute one result together, or one does where the rows are short; of
// long rows (SLICED) groups reduce slices, and others join these. The host defines INITIAL, STEP over value and element, JOIN
// over value and other, FINISH over value and count; and SHIFTED where elements are reduced relative to their maximum.

#if LANES > 1
#define SHARE(value, JOINED)                                                        \
  lanes[lane] = value;                                                              \
  barrier(CLK_LOCAL_MEM_FENCE);                                                     \
  for (int width = LANES / 2; width > 0; width /= 2) {                              \
    if (lane < width) {                                                             \
      const TX value = lanes[lane], other = lanes[lane + width];                    \
      lanes[lane] = JOINED;                                                         \
    }                                                                               \
    barrier(CLK_LOCAL_MEM_FENCE);                                                   \
  }                                                                                 \
  value = lanes[0];                                                                 \
  barrier(CLK_LOCAL_MEM_FENCE);
#else
#define SHARE(value, JOINED)
#endif

#define LARGER MAX_OR_NAN(value, other)

#ifndef SLICED
// kept.dims, kept.a: sizes and strides of what stays; reduced.dims, reduced.a: of what goes.
#if LANES > 1
__attribute__((reqd_work_group_size(LANES, 1, 1)))
#endif
__kernel void reduce(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Strided kept, Strided reduced, long count) {
  const long from = 0, to = count;
#if LANES > 1
  __local TX lanes[LANES];
  const int lane = get_local_id(0);
  const long i = get_group_id(0);
#else
  const int lane = 0;
  const long i = get_global_id(0);
  if ((ulong)i >= total) return;
#endif
#else
// The slice of `length` elements of a row that the group has: its value, and with SHIFTED before it what that is relative to.
__attribute__((reqd_work_group_size(LANES, 1, 1)))
__kernel void reduce_slices(__global uchar* x_, ulong xo, __global TX* parts, ulong po, Strided kept, Strided reduced, long count, long slices, long length) {
  __local TX lanes[LANES];
  const int lane = get_local_id(0);
  const long part = get_group_id(0), i = part / slices, from = part % slices * length, to = min(count, from + length);
#endif
  const long start = offset_of(i, &kept);
  TX value;
#ifdef SHIFTED
  value = -INFINITY;
  for (long j = from + lane; j < to; j += LANES) {
    const TX element = GET_X(x_ + xo, start + offset_of(j, &reduced));
    value = MAX_OR_NAN(value, element);
  }
  SHARE(value, LARGER)
  const TX largest = value, shift = isinf(largest) ? (TX)0 : largest;
#endif
  value = INITIAL;
  for (long j = from + lane; j < to; j += LANES) {
    const TX element = GET_X(x_ + xo, start + offset_of(j, &reduced));
    value = STEP;
  }
  SHARE(value, JOIN)
#ifndef SLICED
  if (lane == 0) PUT_X(y_ + yo, i, FINISH);
}
#else
  if (lane > 0) return;
  parts = (__global TX*)((__global uchar*)parts + po);
#ifdef SHIFTED
  parts[2 * part] = largest == -INFINITY ? largest : shift;
  parts[2 * part + 1] = value;
#else
  parts[part] = value;
#endif
}

// A row's slices. They are few.
__attribute__((reqd_work_group_size(LANES, 1, 1)))
__kernel void join_slices(__global TX* parts, ulong po, __global uchar* y_, ulong yo, long count, long slices) {
  __local TX lanes[LANES];
  const int lane = get_local_id(0);
  const long i = get_group_id(0);
  parts = (__global TX*)((__global uchar*)parts + po);
  TX value;
#ifdef SHIFTED
  const __global TX* row = parts + 2 * i * slices;
  value = -INFINITY;
  for (long j = lane; j < slices; j += LANES) {
    const TX other = row[2 * j];
    value = LARGER;
  }
  SHARE(value, LARGER)
  const TX shift = isinf(value) ? (TX)0 : value;
  value = 0;
  for (long j = lane; j < slices; j += LANES) value += row[2 * j + 1] * exp(row[2 * j] - shift);
#else
  const __global TX* row = parts + i * slices;
  value = INITIAL;
  for (long j = lane; j < slices; j += LANES) {
    const TX other = row[j];
    value = JOIN;
  }
#endif
  SHARE(value, JOIN)
  if (lane == 0) PUT_X(y_ + yo, i, FINISH);
}
#endif
