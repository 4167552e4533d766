// BitShift (11, 28).

#include <type_traits>

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/ops/logical/bit_shift.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/engine/elementwise_row-inl.h"
#include "ops/logical/bit_shift.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Shifts by the width or more, or by a negative number, move everything out.
template <class T>
T ShiftLeft(T a, T b) {
  using U = Wrapping<T>;
  constexpr U kWidth = sizeof(T) * 8;
  const U shift = static_cast<U>(b);
  return shift < kWidth ? static_cast<T>(static_cast<U>(a) << (shift & (kWidth - 1))) : T(0);
}
template <class T>
T ShiftRight(T a, T b) {
  using U = Wrapping<T>;
  constexpr U kWidth = sizeof(T) * 8;
  const U shift = static_cast<U>(b);
  const T out = static_cast<T>(a < T(0) ? -1 : 0);
  return shift < kWidth ? static_cast<T>(a >> (shift & (kWidth - 1))) : out;
}

constexpr ElementwiseRow kLeft = TESSERA_BINARY(BitShift, 11, kInts, ShiftLeft(a, b)).Costs(0.4);
constexpr ElementwiseRow kRight = TESSERA_BINARY(BitShift, 11, kInts, ShiftRight(a, b)).Costs(0.4);

}  // namespace

const ElementwiseRow& BitShiftRow(bool left) { return left ? kLeft : kRight; }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
HWY_EXPORT(BitShiftRow);

void RegisterBitShift(KernelRegistry& registry) {
  registry.Add(ToKernelDef(HWY_DYNAMIC_DISPATCH(BitShiftRow)(true), 2, [](const KernelInfo& info) {
    return MakeBinary(HWY_DYNAMIC_DISPATCH(BitShiftRow)(BitShiftAttributes(info.node()).left), info);
  }));
}

}  // namespace tessera::cpu
#endif
