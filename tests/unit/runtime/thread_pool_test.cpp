#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "base/sanitizers.h"
#include "runtime/threads/cancellable_pool.h"
#include "runtime/threads/thread_pools.h"
#include "tessera/error.h"

namespace tessera {
namespace {

struct Kind {
  const char* name;
  std::shared_ptr<SessionThreadPool> (*make)(int threads);
};

class ThreadPoolTest : public ::testing::TestWithParam<Kind> {};

TEST_P(ThreadPoolTest, CoversEveryItemOnce) {
  for (const int threads : {1, 2, 4, 7}) {
    const auto pool = GetParam().make(threads);
    EXPECT_EQ(pool->num_threads(), threads);
    for (const int64_t total : {0, 1, 2, 3, 63, 64, 65, 1000, 4097}) {
      for (const double cost : {0.0, 10.0, 1000.0, 1e7}) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(total));
        pool->ParallelFor(total, cost, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
        });
        for (const auto& count : seen) ASSERT_EQ(count, 1) << threads << " threads, " << total << " items";
      }
    }
  }
}

TEST_P(ThreadPoolTest, RethrowsAndGoesOn) {
  const auto pool = GetParam().make(4);
  for (int i = 0; i < 20; ++i) {
    EXPECT_THROW(pool->ParallelFor(100, 1e6,
                                   [](int64_t begin, int64_t) {
                                     if (begin > 10) throw std::runtime_error("no");
                                   }),
                 std::runtime_error);
  }
  std::atomic<int64_t> sum = 0;
  pool->ParallelFor(100, 1e6, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 100);
}

TEST_P(ThreadPoolTest, NestedRegionsStayOnTheirThread) {
  const auto pool = GetParam().make(4);
  std::atomic<int64_t> sum = 0;
  pool->ParallelFor(16, 1e6, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto thread = std::this_thread::get_id();
      pool->ParallelFor(100, 1e6, [&](int64_t inner_begin, int64_t inner_end) {
        EXPECT_EQ(std::this_thread::get_id(), thread);
        sum += inner_end - inner_begin;
      });
    }
  });
  EXPECT_EQ(sum, 1600);
}

TEST_P(ThreadPoolTest, ManyCallersAtOnce) {
  const auto pool = GetParam().make(4);
  std::vector<std::thread> callers;
  for (int t = 0; t < 12; ++t) {
    callers.emplace_back([&] {
      const RunScope run(*pool);
      for (int i = 0; i < 200; ++i) {
        std::atomic<int64_t> sum = 0;
        pool->ParallelFor(64, 1e5, [&](int64_t begin, int64_t end) { sum += end - begin; });
        ASSERT_EQ(sum, 64);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST_P(ThreadPoolTest, CutsLoopsTheSameWayEveryTime) {
  const auto pool = GetParam().make(4);
  const auto pieces = [&] {
    std::mutex mutex;
    std::vector<std::pair<int64_t, int64_t>> found;
    pool->ParallelFor(1000, 500, [&](int64_t begin, int64_t end) {
      const std::lock_guard lock(mutex);
      found.emplace_back(begin, end);
    });
    std::sort(found.begin(), found.end());
    return found;
  };
  const auto first = pieces();
  std::vector<std::thread> callers;
  for (int t = 0; t < 6; ++t) {
    callers.emplace_back([&] {
      const RunScope run(*pool);
      for (int i = 0; i < 50; ++i) EXPECT_EQ(pieces(), first);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST_P(ThreadPoolTest, LongLoopsAreCancelled) {
  for (const int threads : {1, 4}) {
    const auto pool = GetParam().make(threads);
    std::atomic<bool> cancel = false;
    std::atomic<int64_t> done = 0;
    CancellablePool cancellable(*pool, StopSignal(&cancel));
    EXPECT_EQ(cancellable.num_threads(), threads);
    const auto run = [&] {
      cancellable.ParallelFor(10'000, 1e6, [&](int64_t begin, int64_t end) {
        done += end - begin;
        if (done > 100) cancel = true;
      });
    };
    EXPECT_THROW(run(), Error);
    EXPECT_LT(done, 1000);
    cancel = false;
    done = -10'000;
    run();
    EXPECT_EQ(done, 0);
  }
}

TEST_P(ThreadPoolTest, CoversEveryItemOnABusyMachine) {
  const auto pool = GetParam().make(4);
  std::atomic<bool> stop{false};
  std::vector<std::jthread> others;
  for (int i = 0; i < 2 * UsableCores(); ++i) {
    others.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
      }
    });
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (std::chrono::steady_clock::now() < end) {
    const RunScope run(*pool);
    for (const int64_t total : {5, 64, 1000}) {
      std::atomic<int64_t> sum{0};
      pool->ParallelFor(total, 20'000, [&](int64_t first, int64_t last) {
        for (; first < last; ++first) sum += first;
      });
      ASSERT_EQ(sum, total * (total - 1) / 2);
    }
  }
  stop = true;
}

TEST_P(ThreadPoolTest, IdlePoolsBurnNothing) {
  const auto pool = GetParam().make(4);
  pool->ParallelFor(16, 1e6, [](int64_t, int64_t) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto cpu = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec * 1000.0 + usage.ru_utime.tv_usec / 1000.0 + usage.ru_stime.tv_sec * 1000.0 +
           usage.ru_stime.tv_usec / 1000.0;
  };
  const double before = cpu();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(cpu() - before, 20);  // ms
}

INSTANTIATE_TEST_SUITE_P(Pools, ThreadPoolTest,
                         ::testing::Values(Kind{"workers", [](int threads) { return MakeWorkerPool(threads); }},
                                           Kind{"workers_without_spin",
                                                [](int threads) { return MakeWorkerPool(threads, false); }}
#if !defined(__SANITIZE_THREAD__)  // libgomp's own synchronization is invisible to TSan
                                           ,
                                           Kind{"openmp", [](int threads) { return MakeOpenMpPool(threads); }}
#endif
                                           ),
                         [](const auto& info) { return std::string(info.param.name); });

#ifdef TESSERA_COUNTS_ALLOCATIONS  // sanitizers reserve more address space than any limit would leave
/// Leaves room for about 32 stacks and asks for 500; 0 where that is a clean error.
int AskForTooManyThreads() {
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{256} << 20);
  const rlimit limit{bytes, bytes};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
  try {
    MakeWorkerPool(500, true);
  } catch (const Error& error) {
    return std::string_view(error.what()).find("ask for fewer intra-op threads") != std::string_view::npos ? 0 : 3;
  }
  return 4;
}

TEST(WorkerPool, ThreadsThatCannotStartAreAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::_Exit(AskForTooManyThreads()), ::testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace tessera
