#include "runtime/threads/spin_throttle.h"

#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/fork.h"
#include "runtime/threads/core_contention.h"
#include "runtime/threads/openmp.h"
#include "runtime/threads/openmp_team.h"
#include "runtime/threads/thread_pools.h"
#include "tessera/error.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

/// A team that sleeps, to make libgomp's threads more than the cores.
class SleepingTeam {
 public:
  /// The machine was busy just now.
  void Keep() noexcept {
    const std::lock_guard lock(mutex_);
    until_ = Clock::now() + kContentionLasts;
    if (running_ && generation_ == ForkGeneration()) return;
    try {
      std::thread([this] { Sleep(); }).detach();
      running_ = true;
      generation_ = ForkGeneration();
    } catch (const std::system_error&) {
      // No thread to be had: runs stay slow, but right.
    }
  }

  bool running() noexcept {
    const std::lock_guard lock(mutex_);
    return running_ && generation_ == ForkGeneration();
  }

 private:
  void Sleep() noexcept {
    try {
      PrepareOpenMpTeam(UsableCores() + 1);
    } catch (const Error&) {
      // No threads to be had: runs stay slow, but right.
    }
    // Its threads wait on a futex until this one ends.
    std::unique_lock lock(mutex_);
    while (Clock::now() < until_) {
      const auto wake = until_;
      lock.unlock();
      std::this_thread::sleep_until(wake);
      lock.lock();
    }
    running_ = false;
  }

  ForkMutex mutex_;
  bool running_ = false;
  uint32_t generation_ = 0;  // of the process that has the team
  Clock::time_point until_;
};

/// Never destroyed: its thread may outlive main.
SleepingTeam& TheSleepingTeam() {
  static auto* const team = new SleepingTeam;
  return *team;
}

}  // namespace

void SpinThrottle::RunEnded() noexcept {
  if (CoreContended() && !engaged()) TheSleepingTeam().Keep();  // once engaged, threads wait as they wake
}

bool SpinThrottle::engaged() noexcept { return TheSleepingTeam().running(); }

}  // namespace tessera
