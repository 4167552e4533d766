#pragma once

// Prefetches what is read later, a few cache lines at a time.

#include <algorithm>
#include <cstdint>

namespace tessera::cpu {

/// Steps in the depth of a GEMM after which a tile prefetches again: all at once would hold up its own loads.
inline constexpr int64_t kAskingSteps = 16;

/// How far ahead of a stream that is read once, in bytes, its cache lines are prefetched at the least.
inline constexpr int64_t kStreamAhead = int64_t{1} << 14;

/// Prefetches the cache line `ahead` bytes from here and, into the first cache, one just ahead. The former goes into the
/// second cache: the first allows so few outstanding lines (24 on Zen 4) that memory would be busy for half of the time.
inline void PrefetchStream(const void* from, int64_t ahead = kStreamAhead) {
  constexpr int64_t kNear = 512;
  const char* at = static_cast<const char*>(from);
  __builtin_prefetch(at + ahead, 0, 2);
  __builtin_prefetch(at + kNear);
}

/// Of blocks of `bytes` bytes that are each met by `tiles` tiles: those of one block ask for the next.
class BlockPrefetch {
 public:
  BlockPrefetch(int64_t bytes, int64_t tiles)
      : bytes_(bytes), step_((bytes / std::max<int64_t>(tiles, 1) + kCacheLine) / kCacheLine * kCacheLine) {}

  void Begin(const void* block) {
    at_ = static_cast<const char*>(block);
    end_ = at_ + bytes_;
  }
  void Continue() {
    for (const char* stop = end_ - at_ < step_ ? end_ : at_ + step_; at_ < stop; at_ += kCacheLine)
      __builtin_prefetch(at_, 0, 2);
  }

 private:
  static constexpr int64_t kCacheLine = 64;

  int64_t bytes_, step_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
};

}  // namespace tessera::cpu
