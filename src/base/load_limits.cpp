#include "base/load_limits.h"

#include <utility>

#include "base/check.h"

namespace tessera {

LoadLimits::LoadLimits() : LoadLimits(std::make_shared<MemoryBudget>("the limit of memory", 0), nullptr, {}) {}

LoadLimits::LoadLimits(std::shared_ptr<MemoryBudget> budget, std::shared_ptr<const std::atomic<bool>> cancel, std::chrono::milliseconds timeout)
    : budget_(std::move(budget)),
      memory_(MakeBudgetedAllocator(HostAllocator(), budget_)),
      cancel_(std::move(cancel)),
      stop_(cancel_.get(), timeout) {}

void LoadLimits::ThrowStopped() const {
  if (stop_.flagged()) Fail(ErrorCode::kModelLoadCanceled, "the load was cancelled through SessionOptions::load_cancel");
  Fail(ErrorCode::kModelLoadCanceled, "the load took longer than SessionOptions::load_timeout, {} ms; allow it more time",
       stop_.timeout().count());
}

}  // namespace tessera
