#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/memory_budget.h"
#include "base/stop_signal.h"
#include "tessera/memory.h"

namespace tessera {

/// What the load of one session may take: memory, and time until somebody stops it. Any thread may ask.
class LoadLimits {
 public:
  /// Nothing is limited.
  LoadLimits();
  LoadLimits(std::shared_ptr<MemoryBudget> budget, std::shared_ptr<const std::atomic<bool>> cancel,
             std::chrono::milliseconds timeout);
  LoadLimits(const LoadLimits&) = delete;
  LoadLimits& operator=(const LoadLimits&) = delete;

  /// Of what belongs to no session's load; lives as long as the process.
  static const LoadLimits& None();

  /// Host memory for what the session keeps, counted; taking some is a Check as well.
  Allocator& memory() const noexcept { return *memory_; }
  MemoryBudget& budget() const noexcept { return *budget_; }
  /// Throws Error(kModelLoadCanceled) once the load was cancelled or its time is over. Cheap: for each node of a pass, each
  /// piece of a loop over data.
  void Check() const {
    if (stopped()) [[unlikely]]
      ThrowStopped(stop_);
  }
  bool stopped() const noexcept { return stop_.requested() && !finished_.load(std::memory_order_relaxed); }
  const StopSignal& stop() const noexcept { return stop_; }
  /// What is left of its time; 0: it has no limit.
  std::chrono::milliseconds time_left() const noexcept;
  /// The load is over: nothing stops any more what it left behind.
  void Finish() noexcept { finished_.store(true, std::memory_order_relaxed); }
  bool finished() const noexcept { return finished_.load(std::memory_order_relaxed); }
  /// The error of a load that was stopped.
  [[noreturn]] static void ThrowStopped(const StopSignal& stop);

 private:
  std::shared_ptr<MemoryBudget> budget_;
  std::shared_ptr<Allocator> memory_;
  std::shared_ptr<const std::atomic<bool>> cancel_;
  const StopSignal stop_;
  const StopSignal::Clock::time_point start_ = StopSignal::Clock::now();
  std::atomic<bool> finished_{false};
};

}  // namespace tessera
