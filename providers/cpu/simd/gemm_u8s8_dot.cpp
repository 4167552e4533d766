// Products of unsigned bytes with constant signed bytes, by dot products that do not saturate: weights are packed as they are.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/gemm_u8s8_dot.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <utility>

#include "simd/dot-inl.h"
#include "simd/gemm_u8s8-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

template <class Product>
struct DotTiles {
  static int64_t Rows(const PackedLines&) { return kWideRows; }

  template <bool kVectors>
  static TileFn Find(int64_t, int64_t rows, bool wide) {
    return PlainTileOf<Product, kVectors, kWideRows>(std::make_index_sequence<kWideRows>{}, rows, wide);
  }
};

template <class Product>
U8S8Kernels TableOf(bool available) {
  return {available, true, kWidth, kWideRows, kWideRows, MultiplyRowsBy<DotTiles<Product>>, MultiplyPanelsBy<DotTiles<Product>>};
}

}  // namespace

U8S8Kernels DotTable(bool emulated) {
  if (emulated) return TableOf<EmulatedDotProduct>(true);
  if constexpr (DotProduct::kPossible) return TableOf<DotProduct>(DotProduct::Available());
  return {};
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(DotTable);

U8S8Kernels DotKernelsU8S8(bool emulated) { return HWY_DYNAMIC_DISPATCH(DotTable)(emulated); }

}  // namespace tessera::cpu
#endif
