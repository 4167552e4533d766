// Copies a block between strided places: dims sizes, a the source's strides, b the target's, c[0], c[1] their first elements.
#define AT(type, buffer, offset) ((__global type*)((__global uchar*)(buffer) + (offset)))
typedef struct { int rank; int padding; long dims[8]; long a[8]; long b[8]; long c[8]; } Strided;

__kernel void copy(__global uchar* x_, ulong xo, __global uchar* y_, ulong yo, Strided s) {
  long rest = get_global_id(0), from = s.c[0], to = s.c[1];
  for (int d = s.rank - 1; d >= 0; --d) {
    const long at = rest % s.dims[d];
    rest /= s.dims[d];
    from += at * s.a[d];
    to += at * s.b[d];
  }
  AT(T, y_, yo)[to] = AT(T, x_, xo)[from];
}
