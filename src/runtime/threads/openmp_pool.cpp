#include <atomic>
#include <cstdint>

#include "base/fork.h"
#include "runtime/plan/region.h"
#include "runtime/threads/openmp.h"
#include "runtime/threads/openmp_team.h"
#include "runtime/threads/spin_throttle.h"

namespace tessera {
namespace {

class OpenMpPool final : public SessionThreadPool {
 public:
  explicit OpenMpPool(int threads) : threads_(threads) {}
  int num_threads() const noexcept override { return threads_; }
  void BeginRun() noexcept override {
    // Runs that were under way when this process was forked do not go on here.
    if (const uint32_t now = ForkGeneration(); generation_.exchange(now, std::memory_order_relaxed) != now) runs_.store(0);
    runs_.fetch_add(1, std::memory_order_relaxed);
  }
  void EndRun() noexcept override {
    runs_.fetch_sub(1, std::memory_order_relaxed);
    SpinThrottle::RunEnded();
  }
  /// libgomp keeps one team for each calling thread: many callers would multiply them. Alone, it is always the whole team
  /// that starts: libgomp ends the threads that a smaller one leaves out, and the next loop would have to create them.
  int share() const noexcept override {
    const int others = std::max(0, runs_.load(std::memory_order_relaxed) - 1);
    return std::max(1, threads_ - others);
  }

 protected:
  void DoParallelFor(int64_t total, double cost_ns, FunctionRef<void(int64_t, int64_t)> body) override {
    if (InsideRegion()) return body(0, total);
    const Chunks chunks(total, cost_ns, threads_);
    const int team = share();
    if (chunks.most() <= 1 || team <= 1) return RunChunksHere(chunks, body);
    EnterOpenMpTeam(team);
    ChunkQueue queue;
    queue.Reset(chunks);
    OnOpenMpTeam(team, [&] { queue.Work(omp_get_thread_num(), body); });
    queue.RethrowError();
  }

 private:
  const int threads_;
  std::atomic<int> runs_{0};
  std::atomic<uint32_t> generation_{ForkGeneration()};
};

}  // namespace

std::shared_ptr<SessionThreadPool> MakeOpenMpPool(int threads) {
  return threads <= 1 ? MakeSerialPool() : std::make_shared<OpenMpPool>(threads);
}

}  // namespace tessera
