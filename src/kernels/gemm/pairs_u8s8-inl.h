// Tiles of the GEMM of bytes by multiply-adds of pairs. Included once per target after hwy/highway.h.

#if defined(TESSERA_PAIRS_U8S8_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_PAIRS_U8S8_INL_H
#undef TESSERA_PAIRS_U8S8_INL_H
#else
#define TESSERA_PAIRS_U8S8_INL_H
#endif

#include "kernels/gemm/byte_pairs-inl.h"
#include "kernels/gemm/gemm_u8s8-inl.h"
#include "kernels/vector/pin-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

constexpr int kRows = kWideRows / 2;  // of tiles that keep 16-bit accumulators, too

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
