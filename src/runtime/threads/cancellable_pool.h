#pragma once

#include <algorithm>
#include <chrono>

#include "base/cancellation.h"
#include "tessera/provider/thread_pool.h"

namespace tessera {

/// A session's pool as one run sees it: its threads know the run that they work for (cancellation points), and long loops
/// look by themselves every few milliseconds. Loops are cut by the clock: what a kernel says that an item costs is an
/// estimate.
class CancellablePool : public ThreadPool {
 public:
  using Fail = void (*)(const StopSignal&);

  /// `fail`: throws the error of what was stopped.
  CancellablePool(ThreadPool& pool, const StopSignal& stop, Fail fail = ThrowCancelled) noexcept
      : pool_(pool), stop_(stop), fail_(fail) {}

  int num_threads() const noexcept override { return pool_.num_threads(); }

 protected:
  /// What ends a loop that begins now; null: nothing.
  virtual const StopSignal* signal() const noexcept { return &stop_; }

  void DoParallelFor(int64_t total, double cost_ns, FunctionRef<void(int64_t, int64_t)> body) override {
    const StopSignal* const stop = signal();
    pool_.ParallelFor(total, cost_ns, [&](int64_t begin, int64_t end) {
      const CancelScope scope(stop, fail_);
      CancellationPoint();
      if (static_cast<double>(end - begin) * cost_ns <= kWholeNs) return body(begin, end);
      InPieces(begin, end, cost_ns, body);
    });
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// The first piece tells how long items take; the others take about kLookEveryNs, unless items get longer on the way.
  static void InPieces(int64_t begin, int64_t end, double cost_ns, FunctionRef<void(int64_t, int64_t)> body) {
    int64_t piece = Whole(kWholeNs / cost_ns, end - begin);
    Clock::time_point start = Clock::now();
    while (true) {
      const int64_t next = end - begin <= piece + piece / 4 ? end : begin + piece;
      body(begin, next);
      if (next == end) return;
      begin = next;
      CancellationPoint();
      const Clock::time_point now = Clock::now();
      const double took = std::max(1.0, std::chrono::duration<double, std::nano>(now - start).count());
      start = now;
      piece = Whole(static_cast<double>(piece) * std::min(kMostGrowth, kLookEveryNs / took), end - begin);
    }
  }

  /// `items`, but at least one, at most `most`, and whole lines and vectors where there are many.
  static int64_t Whole(double items, int64_t most) {
    constexpr int64_t kAlign = 64;
    if (items >= static_cast<double>(most)) return most;
    const auto count = std::max<int64_t>(1, static_cast<int64_t>(items));
    return count < kAlign ? count : count / kAlign * kAlign;
  }

  /// Loops that are said to take less stay whole: the estimate may be twenty times too low.
  static constexpr double kWholeNs = 4e5;
  /// Short enough for a caller who waits, long enough that cutting a loop costs nothing.
  static constexpr double kLookEveryNs = 4e6;
  static constexpr double kMostGrowth = 16;

  ThreadPool& pool_;
  const StopSignal stop_;
  const Fail fail_;
};

}  // namespace tessera
