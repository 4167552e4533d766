// Inner loop of 8-bit depthwise convolution.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/conv_int8.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "simd/conv_int8.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void Row(const Int8DepthwiseRow& row) {
  constexpr int64_t kBlock = 16;
  const T* from = reinterpret_cast<const T*>(row.from);
  int64_t x = 0;
  for (; x + kBlock <= row.width; x += kBlock) {
    uint32_t sums[kBlock];  // may wrap: the bias is anything
    for (int64_t i = 0; i < kBlock; ++i) sums[i] = static_cast<uint32_t>(row.start);
    for (int64_t k = 0; k < row.kernel_size; ++k) {
      const int32_t w = row.weights[k];
      const T* at = from + x + row.kernel_offsets[k];
      for (int64_t i = 0; i < kBlock; ++i) sums[i] += static_cast<uint32_t>(w * at[i]);
    }
    for (int64_t i = 0; i < kBlock; ++i) row.out[x + i] = static_cast<int32_t>(sums[i]);
  }
  if (x == row.width) return;
  auto* out = reinterpret_cast<uint32_t*>(row.out);
  std::fill(out + x, out + row.width, static_cast<uint32_t>(row.start));
  for (int64_t k = 0; k < row.kernel_size; ++k) {
    const int32_t w = row.weights[k];
    const T* at = from + row.kernel_offsets[k];
    for (int64_t i = x; i < row.width; ++i) out[i] += static_cast<uint32_t>(w * at[i]);
  }
}

}  // namespace

void DepthwiseRow(const Int8DepthwiseRow& row) { row.is_signed ? Row<int8_t>(row) : Row<uint8_t>(row); }

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(DepthwiseRow);
void ComputeInt8DepthwiseRow(const Int8DepthwiseRow& row) { HWY_DYNAMIC_DISPATCH(DepthwiseRow)(row); }
}  // namespace tessera::cpu
#endif
