#pragma once

// Hash tables from elements to positions, built once per node.

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/cancellation.h"
#include "base/seeded_hash.h"
#include "base/string_memory.h"
#include "tessera/memory.h"

namespace tessera::cpu {

/// Positions of keys by value. Open addressing over a power of two at most half full.
template <class Key>
class Lookup {
 public:
  static constexpr int64_t kMissing = -1;

  /// `last_wins`: of equal keys the last one counts, otherwise the first. `nan_matches`: any NaN finds a NaN key.
  /// The table counts against `memory`.
  void Build(Allocator& memory, std::vector<Key> keys, bool last_wins, bool nan_matches) {
    constexpr size_t kPlaces = 4 * sizeof(int64_t);  // of a key at most
    charge_ = MemoryCharge(memory, keys.size() * (sizeof(Key) + kPlaces));
    if constexpr (std::is_same_v<Key, std::string>) charge_.Add(TextBytes(keys));
    keys_ = std::move(keys);
    nan_matches_ = nan_matches;
    const size_t size = std::bit_ceil(std::max<size_t>(2 * keys_.size(), 4));
    slots_.assign(size, -1);
    mask_ = size - 1;
    PacedCancellationPoint point(100);
    for (size_t i = 0; i < keys_.size(); ++i) {
      point.Pass();
      if (IsNan(keys_[i])) {
        if (last_wins || nan_ == kMissing) nan_ = static_cast<int64_t>(i);
        continue;
      }
      size_t at = Hash(keys_[i]) & mask_;
      while (slots_[at] >= 0 && !(keys_[static_cast<size_t>(slots_[at])] == keys_[i])) at = (at + 1) & mask_;
      if (slots_[at] < 0 || last_wins) slots_[at] = static_cast<int64_t>(i);
    }
  }

  template <class Probe>
  int64_t Find(const Probe& key) const noexcept {
    if constexpr (std::is_floating_point_v<Key>) {
      if (key != key) return nan_matches_ ? nan_ : kMissing;
    }
    for (size_t at = Hash(key) & mask_;; at = (at + 1) & mask_) {
      const int64_t slot = slots_[at];
      if (slot < 0 || keys_[static_cast<size_t>(slot)] == key) return slot;
    }
  }

  size_t size() const noexcept { return keys_.size(); }

 private:
  static bool IsNan(const Key& key) noexcept {
    if constexpr (std::is_floating_point_v<Key>) {
      return key != key;
    } else {
      return false;
    }
  }

  template <class Probe>
  size_t Hash(const Probe& key) const noexcept {
    uint64_t bits;
    if constexpr (std::is_convertible_v<Probe, std::string_view>) {
      return static_cast<size_t>(SeededHash(key));
    } else if constexpr (std::is_floating_point_v<Probe>) {
      bits = std::bit_cast<uint64_t>(static_cast<double>(key) + 0.0);  // -0 equals 0
    } else {
      bits = static_cast<uint64_t>(key);
    }
    // As SeededHash, for one number: factors that a model cannot know.
    const auto product = static_cast<unsigned __int128>(bits ^ seed_) * factor_;
    return static_cast<size_t>(product) ^ static_cast<size_t>(product >> 64);
  }

  MemoryCharge charge_;
  std::vector<Key> keys_;
  std::vector<int64_t> slots_;
  size_t mask_ = 0;
  uint64_t seed_ = SeededHash(uint64_t{1}, 0);
  uint64_t factor_ = SeededHash(uint64_t{2}, 0) | 1;
  int64_t nan_ = kMissing;
  bool nan_matches_ = false;
};

}  // namespace tessera::cpu
