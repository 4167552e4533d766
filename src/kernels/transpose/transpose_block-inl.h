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

/// How many blocks, one below the other, fill a vector of at most 32 bytes.
constexpr int64_t kTallBlocks = HWY_LANES(float) >= 8 ? 2 : 1;

/// kTallBlocks blocks of floats, one below the other.
template <int64_t kBlocks = kTallBlocks>  // a template so that the other branch is discarded
HWY_INLINE void TransposeTallBlock(const float* from, int64_t from_row, float* to, int64_t to_row) {
  if constexpr (kBlocks == 1) {
    TransposeBlock(from, from_row, to, to_row);
  } else {
    const hn::FixedTag<float, 4 * kBlocks> d;
    const hn::Half<decltype(d)> half;
    const hn::Repartition<double, decltype(d)> d2;
    const auto load = [&](int64_t row) HWY_ATTR {
      return hn::Combine(d, hn::LoadU(half, from + (row + 4) * from_row), hn::LoadU(half, from + row * from_row));
    };
    const auto r0 = load(0), r1 = load(1), r2 = load(2), r3 = load(3);
    const auto q0 = hn::BitCast(d2, hn::InterleaveLower(d, r0, r1)), q1 = hn::BitCast(d2, hn::InterleaveLower(d, r2, r3));
    const auto q2 = hn::BitCast(d2, hn::InterleaveUpper(d, r0, r1)), q3 = hn::BitCast(d2, hn::InterleaveUpper(d, r2, r3));
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, q0, q1)), d, to);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, q0, q1)), d, to + to_row);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, q2, q3)), d, to + 2 * to_row);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, q2, q3)), d, to + 3 * to_row);
  }
}

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
