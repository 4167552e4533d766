#pragma once

#include <algorithm>

#include "base/stop_signal.h"
#include "tessera/thread_pool.h"

namespace tessera {

/// The error that ends a run that was cancelled or whose time is over.
[[noreturn]] void ThrowCancelled(const StopSignal& stop);

/// A session's pool as one run sees it: long loops look at the run's cancel flag every few milliseconds and end in the same
/// error as between nodes.
class CancellablePool final : public ThreadPool {
 public:
  CancellablePool(ThreadPool& pool, const StopSignal& stop) noexcept : pool_(pool), stop_(stop) {}

  int num_threads() const noexcept override { return pool_.num_threads(); }

 protected:
  void DoParallelFor(int64_t total, double cost_ns, FunctionRef<void(int64_t, int64_t)> body) override {
    if (static_cast<double>(total) * cost_ns < kLookEveryNs) return pool_.ParallelFor(total, cost_ns, body);
    const int64_t piece = std::max<int64_t>(1, static_cast<int64_t>(kLookEveryNs / cost_ns));
    pool_.ParallelFor(total, cost_ns, [&](int64_t begin, int64_t end) {
      for (; begin < end; begin += std::min(piece, end - begin)) {
        if (stop_.requested()) ThrowCancelled(stop_);
        body(begin, begin + std::min(piece, end - begin));
      }
    });
  }

 private:
  /// Short enough for a caller who waits, long enough that cutting a loop costs nothing.
  static constexpr double kLookEveryNs = 5e6;

  ThreadPool& pool_;
  const StopSignal stop_;
};

}  // namespace tessera
