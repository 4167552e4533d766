// A reduction over some dimensions. LANES work items compute one result together, or one does where the rows are short. The
// host defines INITIAL, STEP over value and element, JOIN over value and other, FINISH over value and count; and SHIFTED where
// elements are reduced relative to their maximum.

static inline long position(long i, const Strided* s) {
  long at = 0;
  for (int d = s->rank - 1; d > 0; --d) {
    at += i % s->dims[d] * s->a[d];
    i /= s->dims[d];
  }
  return at + i * s->a[0];
}

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

// kept.dims, kept.a: sizes and strides of what stays; reduced.dims, reduced.a: of what goes.
#if LANES > 1
__attribute__((reqd_work_group_size(LANES, 1, 1)))
#endif
__kernel void reduce(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Strided kept, Strided reduced, long count) {
#if LANES > 1
  __local TX lanes[LANES];
  const int lane = get_local_id(0);
  const long i = get_group_id(0);
#else
  const int lane = 0;
  const long i = get_global_id(0);
  if ((ulong)i >= total) return;
#endif
  const long start = position(i, &kept);
  TX value;
#ifdef SHIFTED
  value = -INFINITY;
  for (long j = lane; j < count; j += LANES) {
    const TX element = GET_X(x_ + xo, start + position(j, &reduced));
    value = value != value || value > element ? value : element;
  }
  SHARE(value, value != value || value > other ? value : other)
  const TX shift = isinf(value) ? (TX)0 : value;
#endif
  value = INITIAL;
  for (long j = lane; j < count; j += LANES) {
    const TX element = GET_X(x_ + xo, start + position(j, &reduced));
    value = STEP;
  }
  SHARE(value, JOIN)
  if (lane == 0) PUT_X(y_ + yo, i, FINISH);
}
