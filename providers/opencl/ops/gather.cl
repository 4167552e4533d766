// y[outer, i, inner] = x[outer, indices[i], inner]
#define AT(type, buffer, offset) ((__global type*)((__global uchar*)(buffer) + (offset)))

__kernel void gather(__global uchar* x_, ulong xo, __global uchar* indices_, ulong io, __global uchar* y_, ulong yo, long axis, long count,
                     long inner) {
  const long i = get_global_id(0), column = i % inner, which = i / inner % count, row = i / inner / count;
  long index = AT(INDEX, indices_, io)[which];
  if (index < 0) index += axis;
  // The host cannot see device indices: one outside is clamped, never read past the data.
  index = clamp(index, 0L, axis - 1);
  AT(T, y_, yo)[i] = AT(T, x_, xo)[(row * axis + index) * inner + column];
}
