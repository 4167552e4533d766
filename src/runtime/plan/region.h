#pragma once

// One ParallelFor under way: chunks taken from a counter by the caller and whoever joins.

#include <atomic>
#include <exception>

#include "runtime/threads/float_mode.h"
#include "runtime/threads/thread_pools.h"

namespace tessera {

/// Marks this thread as inside a region for a scope.
class RegionScope {
 public:
  RegionScope() noexcept : before_(InsideRegion()) { InsideRegion() = true; }
  ~RegionScope() { InsideRegion() = before_; }
  RegionScope(const RegionScope&) = delete;
  RegionScope& operator=(const RegionScope&) = delete;

 private:
  const bool before_;
};

/// Marks this thread as outside any region for a scope: what it calls may open regions of its own, while it waits for
/// nobody.
class OutsideRegionScope {
 public:
  OutsideRegionScope() noexcept : before_(InsideRegion()) { InsideRegion() = false; }
  ~OutsideRegionScope() { InsideRegion() = before_; }
  OutsideRegionScope(const OutsideRegionScope&) = delete;
  OutsideRegionScope& operator=(const OutsideRegionScope&) = delete;

 private:
  const bool before_;
};

/// The same chunks one after the other: same results as with threads.
inline void RunChunksHere(const Chunks& chunks, FunctionRef<void(int64_t, int64_t)> body) {
  const RegionScope scope;
  for (int shard = 0; shard < chunks.shards(); ++shard) {
    const int64_t shard_end = chunks.Begin(shard + 1);
    for (int64_t begin = chunks.Begin(shard), end; begin < shard_end; begin = end) {
      end = chunks.End(shard, begin);
      body(begin, end);
    }
  }
}

/// Where each shard of a region goes on, and its first exception.
class ChunkQueue {
 public:
  void Reset(const Chunks& chunks) noexcept {
    chunks_ = chunks;
    float_mode_ = CurrentFloatMode();
    failed_.store(false, std::memory_order_relaxed);
    for (int shard = 0; shard < chunks.shards(); ++shard)
      next_[shard].at.store(chunks.Begin(shard), std::memory_order_relaxed);
    empty_.store(false, std::memory_order_relaxed);
  }
  /// Somebody found no chunk left.
  bool empty() const noexcept { return empty_.load(std::memory_order_relaxed); }
  /// Works until no chunk is left, first on what is this thread's of the pool's.
  void Work(int thread, FunctionRef<void(int64_t, int64_t)> body) noexcept {
    const RegionScope scope;
    const FloatModeScope float_mode(float_mode_);
    const int shards = chunks_.shards();
    int64_t begin = 0;
    try {
      for (int i = 0; i < shards; ++i) {
        const int shard = (thread + i) % shards;
        for (int64_t end; (end = Take(shard, begin)) > begin;) body(begin, end);
      }
    } catch (...) {
      if (!failed_.exchange(true, std::memory_order_relaxed)) error_ = std::current_exception();
      for (int shard = 0; shard < shards; ++shard)
        next_[shard].at.store(chunks_.Begin(shard + 1), std::memory_order_relaxed);
    }
    empty_.store(true, std::memory_order_relaxed);
  }
  /// After everyone has left.
  void RethrowError() {
    if (failed_.load(std::memory_order_relaxed)) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  struct alignas(64) Cursor {
    std::atomic<int64_t> at{0};
  };

  /// Where the shard's next chunk begins and ends; both at the shard's end when none is left.
  int64_t Take(int shard, int64_t& begin) noexcept {
    std::atomic<int64_t>& next = next_[shard].at;
    begin = next.load(std::memory_order_relaxed);
    int64_t end = begin;
    do {
      if (begin >= chunks_.Begin(shard + 1)) return begin;
      end = chunks_.End(shard, begin);
    } while (!next.compare_exchange_weak(begin, end, std::memory_order_relaxed));
    return end;
  }

  Cursor next_[Chunks::kMostShards];
  alignas(64) std::atomic<bool> empty_{true};
  Chunks chunks_;
  FloatMode float_mode_ = 0;  // the caller's
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

}  // namespace tessera
