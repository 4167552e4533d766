#include "runtime/threads/core_contention.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

/// Keeps the calling thread on one core for a scope.
class OnOneCore {
 public:
  explicit OnOneCore(int core) {
    pthread_getaffinity_np(pthread_self(), sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
  }
  ~OnOneCore() { pthread_setaffinity_np(pthread_self(), sizeof(before_), &before_); }
  OnOneCore(const OnOneCore&) = delete;
  OnOneCore& operator=(const OnOneCore&) = delete;

 private:
  cpu_set_t before_{};
};

TEST(CoreContention, IsSeenWhereTwoThreadsWantOneCore) {
  if (!std::filesystem::exists("/proc/thread-self/schedstat")) GTEST_SKIP() << "this kernel does not count";
  const int core = sched_getcpu();
  std::atomic<bool> stop{false};
  std::jthread other([&] {
    const OnOneCore here(core);
    while (!stop.load(std::memory_order_relaxed)) {
    }
  });
  bool seen = false;
  {
    const OnOneCore here(core);
    const auto end = Clock::now() + std::chrono::seconds(20);
    while (!seen && Clock::now() < end) seen = CoreContended();
  }
  stop = true;
  EXPECT_TRUE(seen);
}

TEST(CoreContention, FirstLookOfAThreadHasNothingToCompareWith) {
  bool seen = true;
  std::jthread([&] { seen = CoreContended(); }).join();
  EXPECT_FALSE(seen);
}

}  // namespace
}  // namespace tessera
