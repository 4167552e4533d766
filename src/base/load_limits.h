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
  LoadLimits(std::shared_ptr<MemoryBudget> budget, std::shared_ptr<const std::atomic<bool>> cancel, std::chrono::milliseconds timeout);
  LoadLimits(const LoadLimits&) = delete;
  LoadLimits& operator=(const LoadLimits&) = delete;

  /// Host memory for what the session keeps, counted.
  Allocator& memory() const noexcept { return *memory_; }
  MemoryBudget& budget() const noexcept { return *budget_; }
  /// Throws Error(kModelLoadCanceled) once the load was cancelled or its time is over. Cheap: for each node of a pass, each piece of a
  /// loop over data.
  void Check() const {
    if (stop_.requested()) [[unlikely]] ThrowStopped();
  }
  bool stopped() const noexcept { return stop_.requested(); }
  const StopSignal& stop() const noexcept { return stop_; }

 private:
  [[noreturn]] void ThrowStopped() const;

  std::shared_ptr<MemoryBudget> budget_;
  std::shared_ptr<Allocator> memory_;
  std::shared_ptr<const std::atomic<bool>> cancel_;
  StopSignal stop_;
};

}  // namespace tessera
