// Floats of 8 bits; see SmallFloat in numeric.h. `range`: how what is not finite is spelled: 0 as IEEE does, 1 all bits set are NaN,
// 2 the code of -0 is the one NaN. Without the device's own subnormal numbers, which it need not have.
#ifndef SMALL_FLOATS
#define SMALL_FLOATS
static inline float load_small(uint encoded, int mantissa, int bias, int range) {
  const uint sign = (encoded & 0x80u) << 24, magnitude = encoded & 0x7fu;
  if ((range == 2 && encoded == 0x80u) || (range == 1 && magnitude == 0x7fu)) return NAN;
  const uint digits = magnitude << (23 - mantissa);
  if (range == 0 && magnitude >> mantissa == 0x7fu >> mantissa) return as_float(sign | 0x7f800000u | (digits & 0x7fffffu));
  if (magnitude >> mantissa == 0) return as_float(sign | as_uint((float)magnitude * as_float((uint)(128 - bias - mantissa) << 23)));
  return as_float(sign | (digits + ((uint)(127 - bias) << 23)));
}

static inline uchar store_small(float value, int mantissa, int bias, int range, int saturate) {
  const uint bits = as_uint(value), sign = bits >> 24 & 0x80u, magnitude = bits & 0x7fffffffu;
  const uint top = range == 0 ? 0x7fu - (1u << mantissa) : range == 1 ? 0x7eu : 0x7fu;  // the largest finite one
  if (magnitude > 0x7f800000u) return (uchar)(range == 2 ? 0x80u : sign | (range == 1 ? 0x7fu : (top + 1) | 1u << (mantissa - 1)));
  uint encoded;
  if (magnitude < (uint)(128 - bias) << 23) {  // subnormal: the sum is rounded at the type's last bit
    const uint magic = (uint)(128 - bias - mantissa + 23) << 23;
    encoded = as_uint(as_float(magnitude) + as_float(magic)) - magic;
  } else {
    const int shift = 23 - mantissa;
    const uint rounded = magnitude + (1u << (shift - 1)) - 1 + (magnitude >> shift & 1u);
    encoded = (rounded >> shift) - ((uint)(127 - bias) << mantissa);
  }
  if (encoded > top) {
    if (saturate) return (uchar)(sign | top);
    return (uchar)(range == 2 ? 0x80u : sign | (range == 1 ? 0x7fu : top + 1));
  }
  return (uchar)(range == 2 && encoded == 0 ? 0u : sign | encoded);
}
#endif
