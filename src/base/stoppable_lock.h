#pragma once

#include <chrono>
#include <mutex>

#include "base/cancellation.h"

namespace tessera {

/// The mutex, once whoever has it lets go; throws the error of a run that was cancelled or whose time is over where that
/// comes first.
inline std::unique_lock<std::timed_mutex> LockUnlessStopped(std::timed_mutex& mutex, const StopSignal& stop) {
  constexpr std::chrono::milliseconds kLookEvery(4);
  std::unique_lock lock(mutex, std::try_to_lock);
  while (!lock.owns_lock()) {
    if (stop.requested()) ThrowCancelled(stop);
    lock.try_lock_for(kLookEvery);
  }
  return lock;
}

}  // namespace tessera
