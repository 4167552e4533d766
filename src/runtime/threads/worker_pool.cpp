#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/fork.h"
#include "runtime/plan/region.h"
#include "runtime/threads/affinities.h"
#include "runtime/threads/core_contention.h"
#include "tessera/thread_options.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

/// Threads look for work this long before they sleep: while a run is under way its next region is likely near, and
/// afterwards only a caller in a loop comes back. In a virtual machine a core that sleeps may be given away and come back
/// late, so the time in a run outlasts whatever delays the others. Where other threads want the cores, a thread that spins
/// uses up the time slice that it needs when the work comes, while one that slept is put first.
constexpr auto kSpinInRun = std::chrono::milliseconds(20);
constexpr auto kSpinAfterRun = std::chrono::milliseconds(1);
constexpr auto kSpinWhenContended = std::chrono::microseconds(10);

inline void Pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

void Sleep(std::atomic<uint32_t>& word, uint32_t expected) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void Wake(std::atomic<uint32_t>& word, int threads) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

/// Where the client does not start threads itself.
std::function<void()> StartHere(std::function<void()> body) {
  return [thread = std::make_shared<std::thread>(std::move(body))] { thread->join(); };
}

class WorkerPool final : public SessionThreadPool {
 public:
  WorkerPool(int threads, const ThreadOptions& options, std::string_view affinities_option)
      : threads_(threads),
        options_(options),
        affinities_(AffinitiesOf(affinities_option, options.affinities, static_cast<size_t>(threads) - 1)) {
    const size_t own = static_cast<size_t>(threads) - 1;
    if (options_.observer.observes()) {
      for (Job& job : jobs_) job.work.resize(own);
    }
    try {
      Start();
    } catch (const std::exception& error) {
      const size_t started = workers_->size();
      Stop();
      Fail(ErrorCode::kFail, "cannot start worker thread {} of {}: {}; ask for fewer intra-op threads", started + 1,
           threads - 1, error.what());
    }
  }

  ~WorkerPool() override { Stop(); }

  int num_threads() const noexcept override { return threads_; }
  void BeginRun() noexcept override {
    if (forked()) [[unlikely]]
      StartAgain();
    runs_.fetch_add(1, std::memory_order_relaxed);
    if (first_run_.load(std::memory_order_relaxed) == kNever) first_run_.store(Clock::now(), std::memory_order_relaxed);
  }
  void EndRun() noexcept override {
    runs_.fetch_sub(1, std::memory_order_relaxed);
    LookForContention();
  }

 protected:
  void DoParallelFor(int64_t total, double cost_ns, FunctionRef<void(int64_t, int64_t)> body) override {
    if (InsideRegion()) return body(0, total);
    if (forked()) [[unlikely]]
      StartAgain();
    const Chunks chunks(total, cost_ns, threads_);
    const int others = std::max(0, runs_.load(std::memory_order_relaxed) - 1);
    const auto helpers = static_cast<int>(std::min<int64_t>(chunks.most() - 1, threads_ - 1 - others));
    Job* job = helpers > 0 ? ClaimJob() : nullptr;
    if (job == nullptr) return RunChunksHere(chunks, body);
    job->queue.Reset(chunks);
    job->body = &body;
    Announce(*job, helpers);
    job->seats.store(helpers, std::memory_order_relaxed);
    job->open.store(true);
    epoch_.fetch_add(1);
    if (const int asleep = sleepers_.load(); asleep > 0) Wake(epoch_, std::min(asleep, helpers));
    job->queue.Work(0, body);
    job->open.store(false);
    WaitForWorkers(*job);
    Abandon(*job);
    // The slot is free again before the error leaves.
    struct Release {
      Job* job;
      ~Release() { job->claimed.store(false, std::memory_order_release); }
    } release{job};
    job->queue.RethrowError();
  }

 private:
  /// Whether the workers stayed behind in the process that this one was forked from.
  bool forked() const noexcept { return generation_.load(std::memory_order_acquire) != ForkGeneration(); }

  void Start() {
    const ThreadStarter start = options_.start ? options_.start : StartHere;
    for (int i = 1; i < threads_; ++i) {
      workers_->push_back(start([this, i] {
        if (!affinities_.empty()) StayOn(affinities_[static_cast<size_t>(i) - 1]);
        Loop(i);
      }));
    }
  }

  /// In a child of fork(): with new workers, as many as can be had, and nothing of regions that were under way in the
  /// parent.
  void StartAgain() noexcept {
    const std::lock_guard lock(start_again_);
    if (!forked()) return;
    ForgetWorkers();
    for (Job& job : jobs_) job.Reset();
    sleepers_.store(0);
    runs_.store(0);
    try {
      workers_ = std::make_unique<std::vector<std::function<void()>>>();
      Start();
    } catch (...) {  // loops run on the threads that there are
    }
    generation_.store(ForkGeneration(), std::memory_order_release);
  }

  /// They do not exist in this process; to join or detach them is undefined.
  void ForgetWorkers() noexcept { [[maybe_unused]] const auto* lost = workers_.release(); }

  void Stop() noexcept {
    if (forked()) {
      ForgetWorkers();
      return;
    }
    stop_.store(true);
    epoch_.fetch_add(1);
    Wake(epoch_, threads_);
    for (const std::function<void()>& join : *workers_) join();
  }

  /// A region that workers may join. Slots live as long as the pool, so that a late look at one is harmless.
  struct alignas(64) Job {
    std::atomic<bool> claimed{false};
    alignas(64) std::atomic<bool> open{false};
    std::atomic<int> seats{0};  // how many more workers may join
    const FunctionRef<void(int64_t, int64_t)>* body = nullptr;
    alignas(64) std::atomic<uint32_t> inside{0};
    std::atomic<bool> awaited{false};  // the caller may sleep until nobody is inside
    ChunkQueue queue;
    std::vector<void*> work;  // what the observer calls it, by seat

    void Reset() noexcept {
      claimed.store(false);
      open.store(false);
      inside.store(0);
      awaited.store(false);
    }
  };

  Job* ClaimJob() noexcept {
    for (Job& job : jobs_) {
      if (!job.claimed.load(std::memory_order_relaxed) && !job.claimed.exchange(true, std::memory_order_acquire))
        return &job;
    }
    return nullptr;
  }

  bool Join(Job& job, int thread) noexcept {
    if (!job.open.load(std::memory_order_relaxed) || job.queue.empty()) return false;
    bool worked = false;
    job.inside.fetch_add(1);
    // The caller closes the job before it waits for `inside` to be 0: who sees it open here may use it.
    if (job.open.load()) {
      if (const int seat = job.seats.fetch_sub(1, std::memory_order_relaxed); seat > 0) {
        Help(job, thread, static_cast<size_t>(seat) - 1);
        worked = true;
      }
    }
    if (job.inside.fetch_sub(1) == 1 && job.awaited.load()) Wake(job.inside, 1);
    return worked;
  }

  void Announce(Job& job, int helpers) noexcept {
    const ThreadWorkObserver& observer = options_.observer;
    if (job.work.empty()) [[likely]]
      return;
    for (size_t seat = 0; seat < static_cast<size_t>(helpers); ++seat)
      job.work[seat] = observer.enqueue == nullptr ? nullptr : observer.enqueue(observer.context);
  }

  void Help(Job& job, int thread, size_t seat) noexcept {
    const ThreadWorkObserver& observer = options_.observer;
    if (observer.start != nullptr) observer.start(observer.context, job.work[seat]);
    job.queue.Work(thread, *job.body);
    if (observer.stop != nullptr) observer.stop(observer.context, job.work[seat]);
  }

  /// The seats that nobody took.
  void Abandon(Job& job) noexcept {
    const ThreadWorkObserver& observer = options_.observer;
    if (observer.abandon == nullptr) [[likely]]
      return;
    for (int seat = job.seats.load(std::memory_order_relaxed); seat > 0; --seat)
      observer.abandon(observer.context, job.work[static_cast<size_t>(seat) - 1]);
  }

  void Loop(int thread) noexcept {
    for (;;) {
      const uint32_t seen = epoch_.load();
      if (stop_.load()) return;  // set before the epoch moves on
      bool worked = false;
      for (Job& job : jobs_) worked |= Join(job, thread);
      if (!worked) WaitForChange(seen);
    }
  }

  /// Spins until `done` or for about `limit()`; the last value of `done`.
  template <class Done, class Limit>
  static bool SpinUntil(const Done& done, const Limit& limit) noexcept {
    const Clock::time_point start = Clock::now();
    do {
      for (int i = 0; i < 64; ++i) {
        if (done()) return true;
        Pause();
      }
    } while (Clock::now() - start <= limit());
    return done();
  }

  void LookForContention() noexcept {
    // While a session is made, what reads and packs its weights may be more threads than cores.
    if (!CoreContended(first_run_.load(std::memory_order_relaxed))) return;
    // Threads that sleep early wait for their cores as they wake: such a time says nothing about others.
    const Clock::time_point now = Clock::now();
    if (now < contended_until_.load(std::memory_order_relaxed) + kContentionFades) return;
    contended_until_.store(now + kContentionLasts, std::memory_order_relaxed);
  }
  bool contended() const noexcept { return Clock::now() < contended_until_.load(std::memory_order_relaxed); }

  void WaitForWorkers(Job& job) noexcept {
    const auto limit = [&]() -> Clock::duration { return contended() ? kSpinWhenContended : kSpinInRun; };
    if (SpinUntil([&] { return job.inside.load() == 0; }, limit)) return;
    job.awaited.store(true);
    for (uint32_t inside = job.inside.load(); inside != 0; inside = job.inside.load()) Sleep(job.inside, inside);
    job.awaited.store(false);
  }

  void WaitForChange(uint32_t seen) noexcept {
    LookForContention();
    const auto limit = [&]() -> Clock::duration {
      const int runs = runs_.load(std::memory_order_relaxed);
      if (contended() || runs >= threads_) return kSpinWhenContended;  // so many callers leave nothing to join
      if (runs == 0 && !options_.spin_between_runs) return Clock::duration::zero();
      return options_.spin_duration.value_or(runs > 0 ? kSpinInRun : kSpinAfterRun);
    };
    if (options_.spin && SpinUntil([&] { return epoch_.load(std::memory_order_relaxed) != seen; }, limit)) return;
    sleepers_.fetch_add(1);
    if (epoch_.load() == seen) Sleep(epoch_, seen);
    sleepers_.fetch_sub(1);
  }

  const int threads_;
  const ThreadOptions options_;
  const std::vector<Processors> affinities_;  // by thread but the caller's; empty: any
  std::array<Job, 8> jobs_;
  alignas(64) std::atomic<uint32_t> epoch_{0};
  std::atomic<int> sleepers_{0};
  alignas(64) std::atomic<int> runs_{0};
  static constexpr Clock::time_point kNever = Clock::time_point::max();
  std::atomic<Clock::time_point> first_run_{kNever};
  std::atomic<Clock::time_point> contended_until_{Clock::time_point()};
  std::atomic<bool> stop_{false};
  std::atomic<uint32_t> generation_{ForkGeneration()};
  ForkMutex start_again_;
  /// Each waits for a worker's end.
  std::unique_ptr<std::vector<std::function<void()>>> workers_ = std::make_unique<std::vector<std::function<void()>>>();
};

}  // namespace

std::shared_ptr<SessionThreadPool> MakeWorkerPool(int threads, bool spin) {
  return MakeWorkerPool(threads, ThreadOptions{.spin = spin});
}

std::shared_ptr<SessionThreadPool> MakeWorkerPool(int threads, const ThreadOptions& options,
                                                  std::string_view affinities_option) {
  return threads <= 1 ? MakeSerialPool() : std::make_shared<WorkerPool>(threads, options, affinities_option);
}

}  // namespace tessera
