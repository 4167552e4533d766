#pragma once

// Micro-kernels of TopK.

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tessera::cpu {

/// Keys stand for elements: the larger key comes first, equal keys in the order of their positions. A candidate is a key
/// with its position, packed so that the larger candidate comes first.
template <class Key>
struct TopKCandidate;
template <>
struct TopKCandidate<int32_t> {
  using Type = uint64_t;
};
template <>
struct TopKCandidate<int64_t> {
  using Type = unsigned __int128;
};

/// The key of a floating-point number: NaN is larger than any number, and -0 equals 0. `flip` is 0, or -1 to reverse the
/// order.
template <class T, class Key>
inline Key TopKKeyOf(T x, Key flip) {
  static_assert(sizeof(T) == sizeof(Key));
  const Key bits = std::bit_cast<Key>(x + T{0});
  const Key ordered = bits ^ ((bits >> (8 * sizeof(T) - 1)) & std::numeric_limits<Key>::max());
  return (x != x ? std::numeric_limits<Key>::max() : ordered) ^ flip;
}

template <class Key>
struct TopKKernels {
  using Candidate = typename TopKCandidate<Key>::Type;
  using Float = std::conditional_t<sizeof(Key) == 8, double, float>;
  /// The first `k` >= 1 of keys[0 .. count), k <= count, into candidates[0 .. k) in order; positions count from `base`.
  /// `candidates` has TopKScratch(count, k) elements. Positions are below 2^32 for 32-bit keys.
  void (*select)(const Key* keys, int64_t count, int64_t base, int64_t k, Candidate* candidates);
  void (*make_keys)(const Float* x, Key* keys, int64_t count, Key flip);
};

/// Few are kept in a buffer of larger capacity; many are sorted with a second buffer of the same size.
constexpr bool TopKSelectsFew(int64_t count, int64_t k) { return k <= count / 8; }
constexpr int64_t TopKScratch(int64_t count, int64_t k) { return TopKSelectsFew(count, k) ? 2 * k + 256 : 2 * count; }

/// Sorts `count` candidates, the first `k` of them at least, with a second buffer behind them.
template <class Candidate>
void SortCandidates(Candidate* candidates, int64_t count, int64_t k);

/// Position of a candidate.
inline int64_t PositionOf(uint64_t candidate) { return static_cast<int64_t>(static_cast<uint32_t>(~candidate)); }
inline int64_t PositionOf(unsigned __int128 candidate) { return static_cast<int64_t>(~static_cast<uint64_t>(candidate)); }

/// Key: int32_t, int64_t.
template <class Key>
const TopKKernels<Key>& TopKKernelsOf();

}  // namespace tessera::cpu
