#pragma once

// Stable orders of keys, without allocation.

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "base/cancellable_sort.h"
#include "base/work_array.h"

namespace tessera::cpu {

/// Sorts `order` (0, 1, ...) by `keys`, which end up sorted too. The spare arrays have the same length. Least significant
/// digit first; digits that all keys share cost one look.
template <class Key>
void RadixSort(std::span<Key> keys, std::span<int64_t> order, std::span<Key> spare_keys, std::span<int64_t> spare_order) {
  constexpr int kDigits = sizeof(Key);
  constexpr int64_t kBuckets = 256;
  const WorkArray<int64_t> counts(kDigits * kBuckets);
  std::fill_n(counts.data(), kDigits * kBuckets, int64_t{0});
  PacedCancellationPoint looked(4);
  for (const Key key : keys) {
    looked.Pass();
    for (int d = 0; d < kDigits; ++d) ++counts[d * kBuckets + static_cast<int64_t>((key >> (8 * d)) & 255)];
  }
  const std::span<Key> sorted_keys = keys;
  const std::span<int64_t> sorted_order = order;
  for (int d = 0; d < kDigits; ++d) {
    int64_t* count = counts + d * kBuckets;
    if (count[(keys[0] >> (8 * d)) & 255] == static_cast<int64_t>(keys.size())) continue;
    int64_t next = 0;
    for (int64_t i = 0; i < kBuckets; ++i) next += std::exchange(count[i], next);
    PacedCancellationPoint look(5);
    for (size_t i = 0; i < keys.size(); ++i) {
      look.Pass();
      const auto to = static_cast<size_t>(count[(keys[i] >> (8 * d)) & 255]++);
      spare_keys[to] = keys[i];
      spare_order[to] = order[i];
    }
    std::swap(keys, spare_keys);
    std::swap(order, spare_order);
  }
  if (keys.data() != sorted_keys.data()) {
    std::copy(keys.begin(), keys.end(), sorted_keys.begin());
    std::copy(order.begin(), order.end(), sorted_order.begin());
  }
}

/// Sorts `order` (0, 1, ...) by compare(a, b) < 0 of two indices; equal ones keep their order.
template <class Compare>
void SortByComparing(std::span<int64_t> order, Compare&& compare) {
  SortCancellably(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const auto c = compare(a, b);
    return c < 0 || (c == 0 && a < b);
  });
}

}  // namespace tessera::cpu
