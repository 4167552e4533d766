#include "runtime/spin_throttle.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>

#include "runtime/core_contention.h"
#include "runtime/thread_pools.h"

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
    if (running_) return;
    try {
      std::thread([this] { Sleep(); }).detach();
      running_ = true;
    } catch (const std::system_error&) {
      // No thread to be had: runs stay slow, but right.
    }
  }

  bool running() noexcept {
    const std::lock_guard lock(mutex_);
    return running_;
  }

 private:
  void Sleep() noexcept {
    const int cores = UsableCores();
    std::atomic<int> started{0};  // an empty region would be optimized away
#pragma omp parallel num_threads(cores + 1)
    started.fetch_add(1, std::memory_order_relaxed);
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

  std::mutex mutex_;
  bool running_ = false;
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
