// Selection of the first k keys: a threshold filter when k is small, a radix sort when it is not.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/top_k.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

#include "base/cancellable_sort.h"
#include "base/cancellation.h"
#include "base/work_array.h"
#include "kernels/reduce/top_k.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE uint64_t Pack(int32_t key, int64_t position) {
  return static_cast<uint64_t>(static_cast<uint32_t>(key) ^ 0x80000000u) << 32 | static_cast<uint32_t>(~position);
}
HWY_INLINE unsigned __int128 Pack(int64_t key, int64_t position) {
  const uint64_t biased = static_cast<uint64_t>(key) ^ 0x8000000000000000u;
  return static_cast<unsigned __int128>(biased) << 64 | static_cast<uint64_t>(~position);
}
HWY_INLINE int32_t KeyOf(uint64_t candidate) {
  return static_cast<int32_t>(static_cast<uint32_t>(candidate >> 32) ^ 0x80000000u);
}
HWY_INLINE int64_t KeyOf(unsigned __int128 candidate) {
  return static_cast<int64_t>(static_cast<uint64_t>(candidate >> 64) ^ 0x8000000000000000u);
}

/// A key that at least k of keys[0 .. count) reach, close to the k-th largest: the k-th largest of the maxima of strided
/// groups. k is at most a quarter of the 4 * Lanes() groups.
template <class Key>
HWY_INLINE Key LowerBound(const Key* HWY_RESTRICT keys, int64_t count, int64_t k) {
  const hn::ScalableTag<Key> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a0 = hn::LoadU(d, keys), a1 = hn::LoadU(d, keys + lanes), a2 = hn::LoadU(d, keys + 2 * lanes),
       a3 = hn::LoadU(d, keys + 3 * lanes);
  for (int64_t i = 4 * lanes; i + 4 * lanes <= count; i += 4 * lanes) {
    a0 = hn::Max(a0, hn::LoadU(d, keys + i));
    a1 = hn::Max(a1, hn::LoadU(d, keys + i + lanes));
    a2 = hn::Max(a2, hn::LoadU(d, keys + i + 2 * lanes));
    a3 = hn::Max(a3, hn::LoadU(d, keys + i + 3 * lanes));
  }
  HWY_ALIGN Key top[4 * HWY_LANES(Key)];
  hn::Store(a0, d, top);
  hn::Store(a1, d, top + lanes);
  hn::Store(a2, d, top + 2 * lanes);
  hn::Store(a3, d, top + 3 * lanes);
  std::nth_element(top, top + k - 1, top + 4 * lanes, std::greater<Key>());
  return top[k - 1];
}

/// Keeps the best k found so far at the front of a buffer, and the key that a newcomer must exceed.
template <class Key>
void SelectFew(const Key* HWY_RESTRICT keys, int64_t count, int64_t base, int64_t k,
               typename TopKCandidate<Key>::Type* HWY_RESTRICT candidates) {
  using Candidate = typename TopKCandidate<Key>::Type;
  const hn::ScalableTag<Key> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t workspace_size = TopKScratch(count, k);
  int64_t size = 0;
  const auto compact = [&] {
    std::nth_element(candidates, candidates + k - 1, candidates + size, std::greater<Candidate>());
    size = k;
    return KeyOf(candidates[k - 1]);
  };
  int64_t i = 0;
  Key threshold = std::numeric_limits<Key>::min();
  const Key bound = k <= lanes && count >= 16 * lanes ? LowerBound(keys, count, k) : threshold;
  if (bound != threshold) {
    threshold = bound - 1;  // ties come in
  } else {
    // The first ones come in unseen; k <= count / 8 leaves enough of them.
    for (const int64_t first = std::min(count, k + 64); i < first; ++i) candidates[size++] = Pack(keys[i], base + i);
    threshold = compact();
  }
  // Newcomers that may gather before the threshold rises; less would compact too often, more let too many in.
  const int64_t full = std::min(workspace_size - 4 * lanes, k + std::max<int64_t>(k, 24));
  PacedCancellationPoint look(1);
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    look.Pass(4 * lanes);
    const auto t = hn::Set(d, threshold);
    const auto v0 = hn::LoadU(d, keys + i), v1 = hn::LoadU(d, keys + i + lanes);
    const auto v2 = hn::LoadU(d, keys + i + 2 * lanes), v3 = hn::LoadU(d, keys + i + 3 * lanes);
    const auto top = hn::Max(hn::Max(v0, v1), hn::Max(v2, v3));
    if (hn::AllFalse(d, hn::Gt(top, t))) continue;
    int64_t j = i;
    for (const auto& v : {v0, v1, v2, v3}) {
      uint8_t bytes[8] = {};
      hn::StoreMaskBits(d, hn::Gt(v, t), bytes);
      uint64_t above;
      std::memcpy(&above, bytes, sizeof(above));
      for (; above != 0; above &= above - 1) {
        const int64_t at = j + std::countr_zero(above);
        candidates[size++] = Pack(keys[at], base + at);
      }
      j += lanes;
    }
    if (size > full) threshold = compact();
  }
  for (; i < count; ++i) {
    if (size == workspace_size) threshold = compact();
    candidates[size] = Pack(keys[i], base + i);
    size += keys[i] > threshold;
  }
  if (size > k) compact();
  SortCancellably(candidates, candidates + k, std::greater<Candidate>());
}

/// Of so few vectors of keys the best are found one after the other.
constexpr int64_t kFewVectors = 16, kFewest = 8;

/// False where that would not tell a key from one that was selected.
template <class Key>
bool TakeBest(const Key* HWY_RESTRICT keys, int64_t count, int64_t base, int64_t k,
              typename TopKCandidate<Key>::Type* candidates) {
  const hn::ScalableTag<Key> d;
  constexpr Key kTaken = std::numeric_limits<Key>::min();
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), vectors = (count + lanes - 1) / lanes;
  HWY_ALIGN Key left[kFewVectors * HWY_LANES(Key)];
  const auto none = hn::Set(d, kTaken);
  hn::Store(none, d, left + (vectors - 1) * lanes);
  std::copy_n(keys, count, left);
  for (int64_t i = 0; i < k; ++i) {
    auto all = none;
    for (int64_t v = 0; v < vectors; ++v) all = hn::Max(all, hn::Load(d, left + v * lanes));
    const Key best = hn::GetLane(hn::MaxOfLanes(d, all));
    if (best == kTaken) return false;
    const auto sought = hn::Set(d, best);
    for (int64_t v = 0; v < vectors; ++v) {
      const intptr_t lane = hn::FindFirstTrue(d, hn::Eq(hn::Load(d, left + v * lanes), sought));
      if (lane < 0) continue;
      const int64_t at = v * lanes + lane;
      candidates[i] = Pack(best, base + at);
      left[at] = kTaken;
      break;
    }
  }
  return true;
}

constexpr int64_t kKeysAtOnce = 1 << 20;

template <class T, class Key>
void MakeKeys(const T* x, Key* keys, int64_t count, Key flip) {
  for (int64_t begin = 0; begin < count; begin += kKeysAtOnce) {
    if (begin > 0) CancellationPoint();
    for (int64_t i = begin; i < std::min(count, begin + kKeysAtOnce); ++i) keys[i] = TopKKeyOf(x[i], flip);
  }
}

template <class Key>
void Select(const Key* keys, int64_t count, int64_t base, int64_t k, typename TopKCandidate<Key>::Type* candidates) {
  const bool few = k <= kFewest && count <= kFewVectors * static_cast<int64_t>(HWY_LANES(Key));
  if (few && TakeBest(keys, count, base, k, candidates)) return;
  if (TopKSelectsFew(count, k)) return SelectFew(keys, count, base, k, candidates);
  PacedCancellationPoint look(1);
  for (int64_t i = 0; i < count; ++i) {
    if (i % 4096 == 0) look.Pass(4096);
    candidates[i] = Pack(keys[i], base + i);
  }
  SortCandidates(candidates, count, k);
}

}  // namespace

TopKKernels<int32_t> TopKTable32() { return {Select<int32_t>, MakeKeys<float, int32_t>}; }
TopKKernels<int64_t> TopKTable64() { return {Select<int64_t>, MakeKeys<double, int64_t>}; }

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {
namespace {

/// Least significant digit first, over the key's half of the candidates: positions are ascending already, and each pass
/// keeps the order of equal digits.
template <class Candidate>
void RadixSort(Candidate* candidates, int64_t count) {
  constexpr int kDigit = 11, kBuckets = 1 << kDigit, kKeyBits = sizeof(Candidate) * 4;
  const WorkArray<int64_t> begin(kBuckets);
  Candidate* from = candidates;
  Candidate* to = candidates + count;
  for (int shift = 0; shift < kKeyBits; shift += kDigit) {
    std::fill_n(begin.data(), kBuckets, int64_t{0});
    const auto bucket_of = [&](Candidate c) {
      // Descending order: the digit's complement.
      return static_cast<size_t>(~(c >> (kKeyBits + shift))) & (kBuckets - 1);
    };
    InCancellablePieces(0, count, 2, [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i) ++begin[bucket_of(from[i])];
    });
    if (begin[bucket_of(from[0])] == count) continue;
    int64_t sum = 0;
    for (int i = 0; i < kBuckets; ++i) sum += std::exchange(begin[i], sum);
    InCancellablePieces(0, count, 5, [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i) to[begin[bucket_of(from[i])]++] = from[i];
    });
    std::swap(from, to);
  }
  if (from != candidates) std::copy_n(from, count, candidates);
}

}  // namespace

template <class Candidate>
void SortCandidates(Candidate* candidates, int64_t count, int64_t k) {
  if (count > 1024) return RadixSort(candidates, count);
  if (k < count) std::nth_element(candidates, candidates + k - 1, candidates + count, std::greater<Candidate>());
  std::sort(candidates, candidates + k, std::greater<Candidate>());
}

template void SortCandidates<uint64_t>(uint64_t*, int64_t, int64_t);
template void SortCandidates<unsigned __int128>(unsigned __int128*, int64_t, int64_t);

HWY_EXPORT(TopKTable32);
HWY_EXPORT(TopKTable64);

template <>
const TopKKernels<int32_t>& TopKKernelsOf<int32_t>() {
  static const auto table = HWY_DYNAMIC_DISPATCH(TopKTable32)();
  return table;
}
template <>
const TopKKernels<int64_t>& TopKKernelsOf<int64_t>() {
  static const auto table = HWY_DYNAMIC_DISPATCH(TopKTable64)();
  return table;
}

}  // namespace tessera::cpu
#endif
