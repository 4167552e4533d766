#pragma once

// Micro-kernels of linear quantization over runs of elements whose scale and zero point stay or advance with them.

#include <cstdint>

#include "tessera/element_type.h"

namespace tessera::cpu {

/// y = clamp(round(x / scale) + zero), NaN as `low`; one byte or two for each y. A null `scales` stands for 1. Both advance
/// by `step` (0 or 1) for each element.
using QuantizeLoop = void (*)(const float* x, const float* scales, const float* zeros, int64_t step, float low, float high,
                              void* y, int64_t count);

/// y = (x - zero) * scale.
using DequantizeLoop = void (*)(const void* x, const float* scales, const float* zeros, int64_t step, float* y,
                                int64_t count);

/// The same of planes of `count` elements, one after the other, each with the next scale.
using DequantizePlanesLoop = void (*)(const void* x, const float* scales, const float* zeros, int64_t planes, float* y,
                                      int64_t count);
struct DequantizeLoops {
  DequantizeLoop run;
  DequantizePlanesLoop planes;
};

/// For int8, uint8, int16 and uint16; and for smaller integers, as bytes.
QuantizeLoop FindQuantizeLoop(ElementType type);

/// For float, int8, uint8, int16 and uint16; null for other types. `x` and `y` lie apart.
DequantizeLoops FindDequantizeLoops(ElementType type);
DequantizeLoop FindDequantizeLoop(ElementType type);

/// The same of int32, which float does not hold: the difference is exact.
void DequantizeInt32(const int32_t* x, const float* scales, const int32_t* zeros, int64_t step, float* y, int64_t count);

/// y = x / scale.
void DivideByScale(const float* x, const float* scales, int64_t step, float* y, int64_t count);

/// Smallest and largest element, joined with what is there; NaN elements do not count.
void JoinMinMax(const float* x, int64_t count, float& smallest, float& largest);

/// The result of adding or multiplying quantized values: round(a * a_scale + b * b_scale + offset) + zero, or
/// round((a - a_zero) * (b - b_zero) * a_scale) + zero.
struct QuantizedArithmetic {
  bool is_signed;
  bool multiplies;
  float a_scale, b_scale, offset;
  float a_zero, b_zero;
  int32_t zero;
};

/// Of `count` quantized values each; `out` may be `a` or `b`.
void CombineQuantized(const QuantizedArithmetic& how, const void* a, const void* b, void* out, int64_t count);

}  // namespace tessera::cpu
