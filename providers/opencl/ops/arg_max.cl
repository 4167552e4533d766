// ArgMax and ArgMin, after lines.cl.

#ifdef KERNEL_arg
// The index of the largest (smallest) element, the first or last of equal ones; of the first or last NaN where there is one.
__kernel void arg(ulong total, __global uchar* x_, ulong xo, __global uchar* y_, ulong yo, long n, long stride, int smallest, int last) {
  ROW_INDEX
  long at = last ? n - 1 : 0;
  TX best = X(at);
  for (long k = 1; k < n && best == best; ++k) {
    const long i = last ? n - 1 - k : k;
    const TX x = X(i);
    if (x != x || (smallest ? x < best : x > best)) {
      best = x;
      at = i;
    }
  }
  AT(long, y_, yo)[row_index] = at;
}
#endif

#ifdef KERNEL_arg_slices
__kernel void arg_slices(ulong total, __global uchar* x_, ulong xo, __global uchar* best_, ulong besto, __global uchar* at_, ulong ato, long n, long stride,
                         long slices, long length, int smallest, int last) {
  SLICE_INDEX
  long at = last ? to - 1 : from;
  TX best = X(at);
  for (long k = from + 1; k < to && best == best; ++k) {
    const long i = last ? to - 1 - (k - from) : k;
    const TX x = X(i);
    if (x != x || (smallest ? x < best : x > best)) {
      best = x;
      at = i;
    }
  }
  AT(TX, best_, besto)[part] = best;
  AT(long, at_, ato)[part] = at;
}
#endif

#ifdef KERNEL_arg_join
// Of slices as `arg` of elements.
__kernel void arg_join(ulong total, __global uchar* best_, ulong besto, __global uchar* at_, ulong ato, __global uchar* y_, ulong yo, long slices, int smallest,
                       int last) {
  const ulong row_index = get_global_id(0);
  if (row_index >= total) return;
  const __global TX* values = AT(TX, best_, besto) + row_index * slices;
  const __global long* indices = AT(long, at_, ato) + row_index * slices;
  long slice = last ? slices - 1 : 0;
  TX best = values[slice];
  for (long k = 1; k < slices && best == best; ++k) {
    const long i = last ? slices - 1 - k : k;
    const TX x = values[i];
    if (x != x || (smallest ? x < best : x > best)) {
      best = x;
      slice = i;
    }
  }
  AT(long, y_, yo)[row_index] = indices[slice];
}
#endif
