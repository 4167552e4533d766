#include "runtime/spin_throttle.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>

#include "runtime/thread_pools.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kInterval = std::chrono::milliseconds(20);  // between looks at the counters of a thread
// Involuntary switches in a second of CPU time. An idle machine makes a few; a core shared with one busy thread, 50 to
// 300, by the length of the kernel's time slices.
constexpr double kBusyRate = 25;

/// A team that sleeps, to make libgomp's threads more than the cores.
class SleepingTeam {
 public:
  /// The machine was busy just now.
  void Keep() noexcept {
    const std::lock_guard lock(mutex_);
    until_ = Clock::now() + SpinThrottle::kCalm;
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

double Seconds(const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; }

}  // namespace

bool SpinThrottle::Interrupted() noexcept {
  struct Seen {
    Clock::time_point at;
    double cpu = 0;
    long switches = 0;
  };
  thread_local Seen last;
  const auto now = Clock::now();
  if (now - last.at < kInterval) return false;
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const Seen seen{now, Seconds(usage.ru_utime) + Seconds(usage.ru_stime), usage.ru_nivcsw};
  const double cpu = seen.cpu - last.cpu;
  const bool first = last.at == Clock::time_point();
  const bool often = !first && static_cast<double>(seen.switches - last.switches) > std::max(1.0, kBusyRate * cpu);
  last = seen;
  return often;
}

void SpinThrottle::RunEnded() noexcept {
  if (Interrupted()) TheSleepingTeam().Keep();
}

bool SpinThrottle::engaged() noexcept { return TheSleepingTeam().running(); }

}  // namespace tessera
