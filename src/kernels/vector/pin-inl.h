// Vectors that stay in registers. Included once per target after hwy/highway.h.

#if defined(TESSERA_PIN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_PIN_INL_H
#undef TESSERA_PIN_INL_H
#else
#define TESSERA_PIN_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

/// Has `v` computed here and kept in a register: else the compiler may compute it in another order, or read it anew
/// wherever it is used, and where accumulators fill nearly all registers that spills some of them to memory.
template <class V>
HWY_INLINE void Pin(V& v) {
#if HWY_ARCH_X86
  asm volatile("" : "+v"(v.raw));
#else
  static_cast<void>(v);
#endif
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
