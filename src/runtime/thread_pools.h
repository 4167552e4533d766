#pragma once

// The intra-op thread pools. Which one a session uses is decided by its providers: oneDNN brings libgomp's team, and two
// kinds of spinning teams on the same cores would slow each other down, so such sessions run everything on it.

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/rounding.h"
#include "tessera/thread_pool.h"

namespace tessera {

/// A pool that knows how many runs are under way, so that callers who already fill the cores get no extra threads.
class SessionThreadPool : public ThreadPool {
 public:
  virtual void BeginRun() noexcept = 0;
  virtual void EndRun() noexcept = 0;
};

/// Marks one top-level Run.
class RunScope {
 public:
  explicit RunScope(SessionThreadPool& pool) noexcept : pool_(pool) { pool_.BeginRun(); }
  ~RunScope() { pool_.EndRun(); }
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

 private:
  SessionThreadPool& pool_;
};

/// Runs everything on the calling thread.
std::shared_ptr<SessionThreadPool> MakeSerialPool();
/// Own threads: they spin for a moment after work and while a run is under way (unless told not to), then sleep on a futex.
std::shared_ptr<SessionThreadPool> MakeWorkerPool(int threads, bool spin = true);
/// libgomp's team, the one that oneDNN uses.
std::shared_ptr<SessionThreadPool> MakeOpenMpPool(int threads);

/// Cores that this process may use, by its affinity (one hardware thread each) and the quota of its control groups; at least 1.
int UsableCores() noexcept;

/// How a loop is cut: depends on nothing but its arguments, so that results are the same from run to run.
inline int64_t ChunkSize(int64_t total, double cost_ns, int threads) noexcept {
  constexpr double kChunkNs = 5'000;      // smaller chunks cost more to hand out than they balance
  constexpr int64_t kChunksPerThread = 4;  // enough to even out threads that start late
  const double by_cost = static_cast<double>(total) * cost_ns / kChunkNs;
  const int64_t limit = std::min<int64_t>(total, kChunksPerThread * threads);
  const int64_t chunks = by_cost >= static_cast<double>(limit) ? limit : std::max<int64_t>(1, static_cast<int64_t>(by_cost));
  const int64_t size = CeilDiv(total, chunks);
  constexpr int64_t kAlign = 64;  // keeps vector loops and cache lines whole where it costs no balance
  return size >= 8 * kAlign ? RoundUp(size, kAlign) : size;
}

/// True while this thread runs a region's body: regions inside it stay on the thread.
bool& InsideRegion() noexcept;

}  // namespace tessera
