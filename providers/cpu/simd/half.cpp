// Rows of 16-bit floats to and from float. Written as plain loops on the bits so that every target vectorizes them.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/half.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bit>

#include "simd/half.h"

#ifndef TESSERA_HALF_KERNELS  // once, though this file is included per target
#define TESSERA_HALF_KERNELS
namespace tessera::cpu {
struct HalfKernels {
  void (*float16_to_float)(const uint16_t*, float*, int64_t);
  void (*bfloat16_to_float)(const uint16_t*, float*, int64_t);
  void (*float_to_float16)(const float*, uint16_t*, int64_t);
  void (*float_to_bfloat16)(const float*, uint16_t*, int64_t);
};
}  // namespace tessera::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

void Float16ToFloat(const uint16_t* in, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = in[i];
    const uint32_t sign = (bits & 0x8000u) << 16;
    const uint32_t magnitude = (bits & 0x7fffu) << 13;
    // Scaling by 2^112 re-biases normals and subnormals alike; infinities and NaN get the exponent's missing bits.
    const uint32_t scaled = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    const uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;
    out[i] = std::bit_cast<float>(sign | scaled | special);
  }
}

void BFloat16ToFloat(const uint16_t* in, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = std::bit_cast<float>(static_cast<uint32_t>(in[i]) << 16);
}

void FloatToFloat16(const float* in, uint16_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t word = std::bit_cast<uint32_t>(in[i]);
    const uint32_t sign = (word >> 16) & 0x8000u;
    const uint32_t magnitude = word & 0x7fffffffu;
    const uint32_t rounded = (magnitude + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    uint32_t half = rounded - (112u << 10);
    // Subnormal: adding 0.5 lets the FPU round at bit 2^-24.
    const uint32_t shifted = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    half = magnitude < 0x38800000u ? shifted : half;
    half = magnitude >= 0x477ff000u ? 0x7c00u : half;  // rounds past 65504
    half = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x1ffu) : half;
    out[i] = static_cast<uint16_t>(sign | half);
  }
}

void FloatToBFloat16(const float* in, uint16_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t word = std::bit_cast<uint32_t>(in[i]);
    const uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
    const uint32_t nan = (word >> 16) | 0x40u;
    out[i] = static_cast<uint16_t>((word & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
  }
}

}  // namespace

HalfKernels HalfTable() { return {Float16ToFloat, BFloat16ToFloat, FloatToFloat16, FloatToBFloat16}; }

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
namespace {

HWY_EXPORT(HalfTable);

const auto& Kernels() {
  static const auto kernels = HWY_DYNAMIC_DISPATCH(HalfTable)();
  return kernels;
}

}  // namespace

static_assert(sizeof(Float16) == 2 && sizeof(BFloat16) == 2);

void ToFloat(const Float16* in, float* out, int64_t count) {
  Kernels().float16_to_float(reinterpret_cast<const uint16_t*>(in), out, count);
}
void ToFloat(const BFloat16* in, float* out, int64_t count) {
  Kernels().bfloat16_to_float(reinterpret_cast<const uint16_t*>(in), out, count);
}
void FromFloat(const float* in, Float16* out, int64_t count) {
  Kernels().float_to_float16(in, reinterpret_cast<uint16_t*>(out), count);
}
void FromFloat(const float* in, BFloat16* out, int64_t count) {
  Kernels().float_to_bfloat16(in, reinterpret_cast<uint16_t*>(out), count);
}

}  // namespace tessera::cpu
#endif
