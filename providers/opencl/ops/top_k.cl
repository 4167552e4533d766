// The k largest (smallest) of each line of n elements, `stride` apart, in order; line l starts at (l / stride) * n * stride +
// l % stride. NaN is larger than any number; of equal elements the first comes first.
static inline int above(TX a, TX b) {
#ifdef REAL_X
  if (isnan(a)) return !isnan(b);
#endif
  return a > b;
}
static inline int before(TX a, long i, TX b, long j, int largest) {
  if (largest ? above(a, b) : above(b, a)) return 1;
  if (largest ? above(b, a) : above(a, b)) return 0;
  return i < j;
}
#define X(i) GET_X(x_ + xo, start + (long)(i) * stride)

#ifdef KERNEL_choose
// For few: a group of LANES work items finds one after the other. Lines are divided into `slices` of `length` elements, a group each,
// which writes positions to `chosen`, n where a slice has no more. Then one group for each line looks among these, `count` a line, and
// writes results.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))
void choose(__global uchar* x_, ulong xo, __global uchar* candidates_, ulong co, __global uchar* chosen_, ulong ho, __global uchar* values_,
            ulong vo, __global uchar* indices_, ulong io, long n, long stride, long k, int largest, long slices, long length, long count) {
  __local TX best[LANES];
  __local long at[LANES];
  const int lane = get_local_id(0);
  const long row = get_group_id(0) / slices, first = get_group_id(0) % slices * length;
  const long start = row / stride * n * stride + row % stride, to = row / stride * k * stride + row % stride;
  __global const long* candidates = candidates_ == 0 ? 0 : AT(const long, candidates_, co) + row * count;
  if (candidates_ == 0) count = min(length, n - first);
  TX last = 0;
  long last_at = -1;
  for (long r = 0; r < k; ++r) {
    TX mine = 0;
    long mine_at = n;  // none
    for (long i = lane; i < count && last_at < n; i += LANES) {
      const long position = candidates_ == 0 ? first + i : candidates[i];
      if (position == n) continue;
      const TX x = X(position);
      if (last_at >= 0 && !before(last, last_at, x, position, largest)) continue;
      if (mine_at < n && !before(x, position, mine, mine_at, largest)) continue;
      mine = x;
      mine_at = position;
    }
    best[lane] = mine;
    at[lane] = mine_at;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int width = LANES / 2; width > 0; width /= 2) {
      if (lane < width && at[lane + width] < n &&
          (at[lane] == n || before(best[lane + width], at[lane + width], best[lane], at[lane], largest))) {
        best[lane] = best[lane + width];
        at[lane] = at[lane + width];
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    last = best[0];
    last_at = at[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
      if (chosen_ != 0) AT(long, chosen_, ho)[get_group_id(0) * k + r] = last_at;
      if (values_ != 0) PUT_X(values_ + vo, to + r * stride, last);
      if (indices_ != 0) AT(long, indices_, io)[to + r * stride] = last_at;
    }
  }
}
#endif

#ifdef KERNEL_number
// Positions to sort, `padded` (a power of two) a line; those from n on come last.
__kernel void number(ulong total, __global uchar* order_, ulong oo, long padded) {
  const ulong i = get_global_id(0);
  if (i < total) AT(int, order_, oo)[i] = (int)((long)i % padded);
}
#endif

#ifdef KERNEL_exchange
// A step of a bitonic sort: pairs `apart` in runs of `run`.
__kernel void exchange(ulong total, __global uchar* x_, ulong xo, __global uchar* order_, ulong oo, long n, long stride, long padded, long run,
                       long apart, int largest) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long pair = (long)i % (padded / 2), row = (long)i / (padded / 2), low = pair / apart * 2 * apart + pair % apart;
  const long start = row / stride * n * stride + row % stride;
  __global int* order = AT(int, order_, oo) + row * padded;
  const int a = order[low], b = order[low + apart];
  const int forward = (low & run) == 0;
  const int b_first = b < n && (a >= n || before(X(b), b, X(a), a, largest));
  const int a_first = !b_first;
  if (forward ? b_first : a_first) {
    order[low] = b;
    order[low + apart] = a;
  }
}
#endif

#ifdef KERNEL_gather_top
__kernel void gather_top(ulong total, __global uchar* x_, ulong xo, __global uchar* order_, ulong oo, __global uchar* values_, ulong vo,
                   __global uchar* indices_, ulong io, long n, long stride, long padded, long k) {
  const ulong i = get_global_id(0);
  if (i >= total) return;
  const long r = (long)i / stride % k, row = (long)i / stride / k * stride + (long)i % stride;
  const long start = row / stride * n * stride + row % stride, from = AT(const int, order_, oo)[row * padded + r];
  if (values_ != 0) PUT_X(values_ + vo, i, X(from));
  if (indices_ != 0) AT(long, indices_, io)[i] = from;
}
#endif
