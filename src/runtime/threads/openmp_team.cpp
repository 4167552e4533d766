#include "runtime/threads/openmp_team.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/fork.h"
#include "runtime/threads/openmp.h"

namespace tessera {

namespace {

/// A thread that was joined counts for limits until the kernel has let go of it.
void WaitUntilGone(pid_t thread) noexcept {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  while (syscall(SYS_tgkill, getpid(), thread, 0) == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
}

}  // namespace

void RequireThreads(int count, const char* purpose) {
  std::latch all_started(1);
  std::vector<std::thread> threads;
  std::vector<pid_t> numbers(static_cast<size_t>(std::max(count, 0)));
  std::string error;
  try {
    for (pid_t& number : numbers) {
      threads.emplace_back([&all_started, &number] {
        number = static_cast<pid_t>(syscall(SYS_gettid));
        all_started.wait();
      });
    }
  } catch (const std::system_error& failed) {
    error = failed.what();
  }
  const size_t started = threads.size();
  all_started.count_down();
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < started; ++i) WaitUntilGone(numbers[i]);
  if (started == static_cast<size_t>(count)) return;
  Fail(ErrorCode::kFail,
       "cannot start thread {} of {} for {}: {}; ask for fewer threads, or raise the limit of threads or of memory",
       started + 1, count, purpose, error);
}

namespace openmp_team {
namespace {

/// Callers that come and go make teams shrink and grow: to try what this thread's team had just now would double what that
/// takes.
constexpr auto kLately = std::chrono::milliseconds(100);

/// One team starts at a time: what was tried for one must not be taken by another.
ForkMutex& StartMutex() {
  static ForkMutex& mutex = *new ForkMutex(ForkMutex::Held::kLong);
  return mutex;
}

}  // namespace

State& Current() noexcept {
  static thread_local State state;
  return state;
}

void Start(int threads) {
  if (omp_in_parallel() != 0) return;  // a region inside another has one thread
  State& team = Current();
  const std::lock_guard lock(StartMutex());
  const auto now = std::chrono::steady_clock::now();
  const bool had_them_lately = threads <= team.started && now - team.when < kLately;
  if (threads > team.size && !had_them_lately) {
    RequireThreads(threads - team.size, "the OpenMP team");
    team.started = threads;
    team.when = now;
  }
  threads = std::max(threads, team.size);
  const FloatMode mode = CurrentFloatMode();
  std::atomic<int> started{0};
  OnOpenMpTeam(threads, [&] {
    SetFloatMode(mode);
    started.fetch_add(1, std::memory_order_relaxed);
  });
  team.size = threads;
  team.mode = mode;
}

}  // namespace openmp_team
}  // namespace tessera
