// Stands before every kernel's text.
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// A tensor argument is a buffer and a byte offset.
#define AT(type, buffer, offset) ((__global type*)((__global uchar*)(buffer) + (offset)))

// The same struct stands in kernel.h.
typedef struct { int rank; int padding; long dims[8]; long a[8]; long b[8]; long c[8]; } Strided;

inline float load_bfloat16(__global const ushort* p, long i) { return as_float((uint)p[i] << 16); }
inline void store_bfloat16(__global ushort* p, long i, float value) {
  const uint bits = as_uint(value);
  p[i] = isnan(value) ? (ushort)0x7fc0 : (ushort)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
