// Sum, mean, maximum or minimum over some dimensions. One work item computes one result.
#define AT(type, buffer, offset) ((__global type*)((__global uchar*)(buffer) + (offset)))
typedef struct { int rank; int padding; long dims[8]; long a[8]; long b[8]; long c[8]; } Strided;

// kept.dims/kept.a: sizes and strides of what stays; reduced.dims/reduced.a: of what goes.
__kernel void reduce(__global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Strided kept, Strided reduced, long count) {
  const size_t i = get_global_id(0);
  long rest = (long)i, start = 0;
  for (int d = kept.rank - 1; d >= 0; --d) {
    start += rest % kept.dims[d] * kept.a[d];
    rest /= kept.dims[d];
  }
  __global const float* x = AT(float, x_, xo) + start;
  float value = INITIAL;
  for (long j = 0; j < count; ++j) {
    long at = 0;
    rest = j;
    for (int d = reduced.rank - 1; d >= 0; --d) {
      at += rest % reduced.dims[d] * reduced.a[d];
      rest /= reduced.dims[d];
    }
    const float element = x[at];
    value = STEP;
  }
  AT(float, y_, yo)[i] = FINISH;
}
