#include "runtime/spin_throttle.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

#include "runtime/thread_pools.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

std::ptrdiff_t ThreadsOfThisProcess() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

TEST(SpinThrottle, KeepsASleepingTeamWhileTheMachineIsBusy) {
  const int cores = UsableCores();
  if (cores < 2) GTEST_SKIP() << "one core has no team";
  const std::ptrdiff_t before = ThreadsOfThisProcess();
  // The pool's team adds fewer threads than cores, where no earlier test has made it; the sleeping team adds as many.
  const std::ptrdiff_t with_pool = before + cores - 1, with_sleepers = before + 2 * cores + cores;
  const std::shared_ptr<SessionThreadPool> pool = MakeOpenMpPool(cores);
  std::atomic<bool> stop{false};
  std::ptrdiff_t most = 0;
  {
    std::vector<std::jthread> others;
    for (int i = 0; i < 2 * cores; ++i) {
      others.emplace_back([&] {
        while (!stop.load(std::memory_order_relaxed)) {
        }
      });
    }
    const auto end = Clock::now() + std::chrono::seconds(20);
    while (Clock::now() < end && most < with_sleepers) {
      const RunScope run(*pool);
      std::atomic<int64_t> sum{0};
      pool->ParallelFor(1 << 16, 1000.0, [&](int64_t first, int64_t last) { sum += last - first; });
      EXPECT_EQ(sum, 1 << 16);
      most = std::max(most, ThreadsOfThisProcess());
    }
    stop = true;
  }
  EXPECT_GE(most, with_sleepers);
  const auto end = Clock::now() + std::chrono::seconds(20);
  while (Clock::now() < end && ThreadsOfThisProcess() > with_pool) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(ThreadsOfThisProcess(), with_pool) << "it goes when runs end";
}

}  // namespace
}  // namespace tessera
