#include "base/load_limits.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/clock_range.h"

namespace tessera {

LoadLimits::LoadLimits() : LoadLimits(std::make_shared<MemoryBudget>("the limit of memory", 0), nullptr, {}) {}

LoadLimits::LoadLimits(std::shared_ptr<MemoryBudget> budget, std::shared_ptr<const std::atomic<bool>> cancel,
                       std::chrono::milliseconds timeout)
    : budget_(std::move(budget)),
      memory_(MakeBudgetedAllocator(HostAllocator(), budget_, [this] { Check(); })),
      cancel_(std::move(cancel)),
      stop_(cancel_.get(), InClockRange(timeout)) {}

const LoadLimits& LoadLimits::None() {
  static const LoadLimits& none = *new LoadLimits;  // outlives graphs in static storage
  return none;
}

std::chrono::milliseconds LoadLimits::time_left() const noexcept {
  if (stop_.timeout().count() <= 0) return {};
  const auto taken = std::chrono::duration_cast<std::chrono::milliseconds>(StopSignal::Clock::now() - start_);
  return std::max(stop_.timeout() - taken, std::chrono::milliseconds(1));
}

void LoadLimits::ThrowStopped(const StopSignal& stop) {
  if (stop.flagged()) Fail(ErrorCode::kModelLoadCanceled, "the load was cancelled through SessionOptions::load_cancel");
  Fail(ErrorCode::kModelLoadCanceled, "the load took longer than SessionOptions::load_timeout, {} ms; allow it more time",
       stop.timeout().count());
}

}  // namespace tessera
