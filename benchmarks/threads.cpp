// What one parallel region costs on each kind of pool: build/bin/bench_threads

#include <benchmark/benchmark.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "base/rounding.h"
#include "runtime/threads/thread_pools.h"

namespace tessera {
namespace {

/// For comparison only: oneTBB behind the same interface.
class TbbPool final : public SessionThreadPool {
 public:
  explicit TbbPool(int threads) : arena_(threads) {}
  int num_threads() const noexcept override { return arena_.max_concurrency(); }
  void BeginRun() noexcept override {}
  void EndRun() noexcept override {}

 protected:
  void DoParallelFor(int64_t total, double cost_ns, FunctionRef<void(int64_t, int64_t)> body) override {
    const int64_t chunk = CeilDiv(total, Chunks(total, cost_ns, num_threads()).most());
    arena_.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<int64_t>(0, total, static_cast<size_t>(chunk)),
          [&](const auto& range) { body(range.begin(), range.end()); }, tbb::simple_partitioner());
    });
  }

 private:
  tbb::task_arena arena_;
};

/// About 1 us of arithmetic.
void Microsecond() {
  uint64_t x = 1;
  for (int i = 0; i < 500; ++i) benchmark::DoNotOptimize(x = x * 6364136223846793005u + 1);
}

/// Regions of `range(0)` microseconds of work, `range(1)` microseconds of serial work between them.
void Regions(benchmark::State& state, const std::shared_ptr<SessionThreadPool>& pool) {
  const RunScope scope(*pool);
  const int64_t work = state.range(0);
  for (auto _ : state) {
    pool->ParallelFor(work, 1000, [](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Microsecond();
    });
    for (int64_t i = 0; i < state.range(1); ++i) Microsecond();
  }
}

void Register(const char* name, const std::shared_ptr<SessionThreadPool>& pool) {
  for (const int64_t work : {25, 50, 100, 400}) {
    for (const int64_t gap : {0, 20}) {
      benchmark::RegisterBenchmark(
          (std::string(name) + "/work:" + std::to_string(work) + "us/gap:" + std::to_string(gap) + "us").c_str(),
          [pool](benchmark::State& state) { Regions(state, pool); })
          ->Args({work, gap})
          ->UseRealTime();
    }
  }
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  using namespace tessera;
  const int threads = UsableCores();
  benchmark::Initialize(&argc, argv);
  Register("serial", MakeSerialPool());
  Register("workers", MakeWorkerPool(threads));
  Register("openmp", MakeOpenMpPool(threads));
  Register("tbb", std::make_shared<TbbPool>(threads));
  benchmark::RunSpecifiedBenchmarks();
}
