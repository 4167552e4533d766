// A square block through registers: its rows become columns. Included once per target after hwy/highway.h.

#include <cstdint>

#if defined(TESSERA_TRANSPOSE_BLOCK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_TRANSPOSE_BLOCK_INL_H
#undef TESSERA_TRANSPOSE_BLOCK_INL_H
#else
#define TESSERA_TRANSPOSE_BLOCK_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Elements along a side of what TransposeBlock moves: 16 bytes.
template <class E>
constexpr int64_t kBlockSide = 16 / sizeof(E);

/// A square block: rows that are `from_row` apart become columns of rows `to_row` apart.
template <class E>  // a template so that the branch on its size is discarded
HWY_INLINE void TransposeBlock(const E* from, int64_t from_row, E* to, int64_t to_row) {
  const hn::FixedTag<E, kBlockSide<E>> dx;
  const auto r0 = hn::LoadU(dx, from), r1 = hn::LoadU(dx, from + from_row);
  if constexpr (sizeof(E) == 4) {
    const hn::Repartition<double, decltype(dx)> d2;
    const auto r2 = hn::LoadU(dx, from + 2 * from_row), r3 = hn::LoadU(dx, from + 3 * from_row);
    const auto q0 = hn::BitCast(d2, hn::InterleaveLower(dx, r0, r1)), q1 = hn::BitCast(d2, hn::InterleaveLower(dx, r2, r3));
    const auto q2 = hn::BitCast(d2, hn::InterleaveUpper(dx, r0, r1)), q3 = hn::BitCast(d2, hn::InterleaveUpper(dx, r2, r3));
    hn::StoreU(hn::BitCast(dx, hn::InterleaveLower(d2, q0, q1)), dx, to);
    hn::StoreU(hn::BitCast(dx, hn::InterleaveUpper(d2, q0, q1)), dx, to + to_row);
    hn::StoreU(hn::BitCast(dx, hn::InterleaveLower(d2, q2, q3)), dx, to + 2 * to_row);
    hn::StoreU(hn::BitCast(dx, hn::InterleaveUpper(d2, q2, q3)), dx, to + 3 * to_row);
  } else {
    hn::StoreU(hn::InterleaveLower(dx, r0, r1), dx, to);
    hn::StoreU(hn::InterleaveUpper(dx, r0, r1), dx, to + to_row);
  }
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
