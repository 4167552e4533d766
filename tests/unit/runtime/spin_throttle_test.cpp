#include "runtime/threads/spin_throttle.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/threads/thread_pools.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

TEST(SpinThrottle, KeepsASleepingTeamWhileTheMachineIsBusy) {
  const int cores = UsableCores();
  if (cores < 2) GTEST_SKIP() << "one core has no team";
  const std::shared_ptr<SessionThreadPool> pool = MakeOpenMpPool(cores);
  std::atomic<bool> stop{false};
  bool engaged = false;
  {
    std::vector<std::jthread> others;
    for (int i = 0; i < 2 * cores; ++i) {
      others.emplace_back([&] {
        while (!stop.load(std::memory_order_relaxed)) {
        }
      });
    }
    const auto end = Clock::now() + std::chrono::seconds(20);
    while (Clock::now() < end && !engaged) {
      const RunScope run(*pool);
      std::atomic<int64_t> sum{0};
      pool->ParallelFor(1 << 16, 1000.0, [&](int64_t first, int64_t last) { sum += last - first; });
      EXPECT_EQ(sum, 1 << 16);
      engaged = SpinThrottle::engaged();
    }
    stop = true;
  }
  EXPECT_TRUE(engaged);
  const auto end = Clock::now() + std::chrono::seconds(20);
  while (Clock::now() < end && SpinThrottle::engaged()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(SpinThrottle::engaged()) << "the team goes when runs end";
}

}  // namespace
}  // namespace tessera
