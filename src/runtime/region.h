#pragma once

// One ParallelFor under way: chunks taken from a counter by the caller and whoever joins.

#include <atomic>
#include <exception>

#include "runtime/float_mode.h"
#include "runtime/thread_pools.h"

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

/// The same chunks one after the other: same results as with threads.
inline void RunChunksHere(const Chunks& chunks, FunctionRef<void(int64_t, int64_t)> body) {
  const RegionScope scope;
  for (int64_t begin = 0, end; begin < chunks.total(); begin = end) {
    end = chunks.End(begin);
    body(begin, end);
  }
}

/// Chunk counter and first exception of a region.
class ChunkQueue {
 public:
  void Reset(const Chunks& chunks) noexcept {
    total_.store(chunks.total(), std::memory_order_relaxed);
    chunks_ = chunks;
    float_mode_ = CurrentFloatMode();
    failed_.store(false, std::memory_order_relaxed);
    next_.store(0, std::memory_order_relaxed);
  }
  bool empty() const noexcept {
    return next_.load(std::memory_order_relaxed) >= total_.load(std::memory_order_relaxed);
  }
  /// Works until no chunk is left.
  void Work(FunctionRef<void(int64_t, int64_t)> body) noexcept {
    const RegionScope scope;
    const FloatModeScope float_mode(float_mode_);
    int64_t begin = 0;
    try {
      for (int64_t end; (end = Take(begin)) > begin;) body(begin, end);
    } catch (...) {
      if (!failed_.exchange(true, std::memory_order_relaxed)) error_ = std::current_exception();
      next_.store(chunks_.total(), std::memory_order_relaxed);
    }
  }
  /// After everyone has left.
  void RethrowError() {
    if (failed_.load(std::memory_order_relaxed)) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  /// Where the next chunk begins and ends; both at the total when none is left.
  int64_t Take(int64_t& begin) noexcept {
    begin = next_.load(std::memory_order_relaxed);
    int64_t end = begin;
    do {
      if (begin >= chunks_.total()) return begin;
      end = chunks_.End(begin);
    } while (!next_.compare_exchange_weak(begin, end, std::memory_order_relaxed));
    return end;
  }

  alignas(64) std::atomic<int64_t> next_{0};
  alignas(64) std::atomic<int64_t> total_{0};  // of chunks_, for a look from outside
  Chunks chunks_;
  FloatMode float_mode_ = 0;  // the caller's
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

}  // namespace tessera
