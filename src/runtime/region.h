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
inline void RunChunksHere(int64_t total, int64_t chunk, FunctionRef<void(int64_t, int64_t)> body) {
  const RegionScope scope;
  for (int64_t begin = 0; begin < total; begin += chunk) body(begin, std::min(begin + chunk, total));
}

/// Chunk counter and first exception of a region.
class ChunkQueue {
 public:
  void Reset(int64_t total, int64_t chunk) noexcept {
    total_.store(total, std::memory_order_relaxed);
    chunk_ = chunk;
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
    const int64_t total = total_.load(std::memory_order_relaxed);
    try {
      for (;;) {
        const int64_t begin = next_.fetch_add(chunk_, std::memory_order_relaxed);
        if (begin >= total) return;
        body(begin, std::min(begin + chunk_, total));
      }
    } catch (...) {
      if (!failed_.exchange(true, std::memory_order_relaxed)) error_ = std::current_exception();
      next_.store(total, std::memory_order_relaxed);
    }
  }
  /// After everyone has left.
  void RethrowError() {
    if (failed_.load(std::memory_order_relaxed)) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  alignas(64) std::atomic<int64_t> next_{0};
  alignas(64) std::atomic<int64_t> total_{0};
  int64_t chunk_ = 1;
  FloatMode float_mode_ = 0;  // the caller's
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

}  // namespace tessera
