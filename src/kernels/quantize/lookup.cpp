// Tables of bytes: in registers where the processor permutes bytes, else one load for each.

#include "kernels/quantize/lookup.h"

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantize/lookup.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>

#include "base/cpu_features.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3
/// 64 bytes by a table of 128, found by the lower seven bits.
HWY_INLINE __m512i Permute(__m512i quantized, __m512i low, __m512i high) {
  asm("vpermi2b %2, %1, %0" : "+v"(quantized) : "v"(low), "v"(high));
  return quantized;
}

/// Whole vectors; gives the number of bytes done.
int64_t LookUpVectors(const uint8_t* table, const uint8_t* from, int64_t count, uint8_t* to) {
  static const bool available = HasAvx512Vbmi();
  if (!available) return 0;
  constexpr int64_t kBytes = 64;
  __m512i part[4];
  for (int i = 0; i < 4; ++i) part[i] = _mm512_loadu_si512(table + i * kBytes);
  int64_t i = 0;
  for (; i + kBytes <= count; i += kBytes) {
    const __m512i quantized = _mm512_loadu_si512(from + i);
    const __m512i low = Permute(quantized, part[0], part[1]), high = Permute(quantized, part[2], part[3]);
    _mm512_storeu_si512(to + i, _mm512_mask_blend_epi8(_mm512_movepi8_mask(quantized), low, high));
  }
  return i;
}
#else
int64_t LookUpVectors(const uint8_t*, const uint8_t*, int64_t, uint8_t*) { return 0; }
#endif

}  // namespace

void LookUp(const uint8_t* table, const uint8_t* from, int64_t count, uint8_t* to) {
  int64_t i = LookUpVectors(table, from, count, to);
  for (; i + 8 <= count; i += 8) {  // one load and one store for eight
    uint64_t quantized, results = 0;
    std::memcpy(&quantized, from + i, sizeof(quantized));
    for (int byte = 0; byte < 8; ++byte)
      results |= static_cast<uint64_t>(table[quantized >> (8 * byte) & 0xff]) << (8 * byte);
    std::memcpy(to + i, &results, sizeof(results));
  }
  for (; i < count; ++i) to[i] = table[from[i]];
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(LookUp);
void LookUpBytes(const uint8_t* table, const uint8_t* from, int64_t count, uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(LookUp)(table, from, count, to);
}
}  // namespace tessera::cpu
#endif
