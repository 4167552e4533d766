#pragma once

// The intra-op thread pools. Which one a session uses is decided by its providers: oneDNN brings libgomp's team, and two
// kinds of spinning teams on the same cores would slow each other down, so such sessions run everything on it.

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/rounding.h"
#include "tessera/provider/thread_pool.h"

namespace tessera {

struct ThreadOptions;

/// A pool that knows how many runs are under way, so that callers who already fill the cores get no extra threads.
class SessionThreadPool : public ThreadPool {
 public:
  virtual void BeginRun() noexcept = 0;
  virtual void EndRun() noexcept = 0;
  /// Threads that a run may use now, beside the others under way; at least 1.
  virtual int share() const noexcept { return num_threads(); }
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
/// Throws Error for affinities of another number of threads, naming the option that they came in.
std::shared_ptr<SessionThreadPool> MakeWorkerPool(int threads, const ThreadOptions& options,
                                                  std::string_view affinities_option = "ThreadOptions::affinities");
/// libgomp's team, the one that oneDNN uses.
std::shared_ptr<SessionThreadPool> MakeOpenMpPool(int threads);

/// Cores that this process may use, by its affinity (one hardware thread each) and the quota of its control groups; at
/// least 1.
int UsableCores() noexcept;

/// How a loop is cut into chunks: a shard for each thread, so that from loop to loop a thread meets what its caches hold,
/// and each shard into halves of what is left of it, so that threads that are done early find something to take over from
/// those that started late or are held up (guided self-scheduling: Polychronopoulos and Kuck, 1987). Depends on nothing but
/// its arguments, so that results are the same from run to run.
class Chunks {
 public:
  static constexpr int kMostShards = 16;  // more threads share them

  Chunks() = default;
  Chunks(int64_t total, double cost_ns, int threads) noexcept : total_(total) {
    constexpr double kLeastNs = 5'000;  // smaller chunks cost more to hand out than they balance
    constexpr int64_t kMostPerThread = 16;
    const double by_cost = static_cast<double>(total) * cost_ns / kLeastNs;
    const int64_t limit = std::min<int64_t>(total, kMostPerThread * threads);
    most_ = by_cost >= static_cast<double>(limit) ? limit : std::max<int64_t>(1, static_cast<int64_t>(by_cost));
    least_ = CeilDiv(total, most_);
    shards_ = static_cast<int>(std::min<int64_t>({most_, threads, kMostShards}));
    aligned_ = total >= 8 * kAlign * shards_;
  }

  int64_t total() const noexcept { return total_; }
  /// No loop is cut into more.
  int64_t most() const noexcept { return most_; }
  int shards() const noexcept { return shards_; }

  /// Where a shard begins; the last one ends where the next would begin.
  int64_t Begin(int shard) const noexcept {
    if (shard == shards_) return total_;
    const int64_t whole = total_ / shards_, rest = total_ % shards_;
    const int64_t begin = whole * shard + std::min<int64_t>(shard, rest);
    return aligned_ ? begin / kAlign * kAlign : begin;
  }
  /// Where the chunk of a shard that begins at `begin` ends.
  int64_t End(int shard, int64_t begin) const noexcept {
    const int64_t end = Begin(shard + 1);
    const int64_t size = std::max(least_, CeilDiv(end - begin, int64_t{2}));
    return std::min(end, begin + (size >= 8 * kAlign ? RoundUp(size, kAlign) : size));
  }

 private:
  static constexpr int64_t kAlign = 64;  // keeps vector loops and cache lines whole where it costs no balance

  int64_t total_ = 0;
  int64_t most_ = 1;
  int64_t least_ = 1;
  int shards_ = 1;
  bool aligned_ = false;
};

/// True while this thread runs a region's body: regions inside it stay on the thread.
bool& InsideRegion() noexcept;

}  // namespace tessera
