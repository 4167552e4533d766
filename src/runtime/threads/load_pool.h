#pragma once

#include "base/load_limits.h"
#include "runtime/threads/cancellable_pool.h"

namespace tessera {

/// A session's pool as its load sees it: long loops end in the load's error once it was stopped.
class LoadPool final : public CancellablePool {
 public:
  LoadPool(ThreadPool& pool, const LoadLimits& limits) noexcept
      : CancellablePool(pool, limits.stop(), LoadLimits::ThrowStopped), limits_(limits) {}

 protected:
  const StopSignal* signal() const noexcept override { return limits_.finished() ? nullptr : &limits_.stop(); }

 private:
  const LoadLimits& limits_;
};

}  // namespace tessera
