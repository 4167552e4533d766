#pragma once

#include <cstdint>

#include "tessera/export.h"
#include "tessera/provider/function_ref.h"

namespace tessera {

/// The intra-op threads of a session. One pool is active at a time in a process region: see docs/performance.md.
class TESSERA_API ThreadPool {
 public:
  virtual ~ThreadPool() = default;

  /// Threads that ParallelFor may use, the caller included; at least 1.
  virtual int num_threads() const noexcept = 0;

  /// Calls `body(begin, end)` on disjoint ranges that cover [0, total), on up to num_threads() threads, and returns when
  /// all are done. `cost_ns` is the estimated time of one item in nanoseconds: small totals stay on the calling thread.
  /// `body` may throw; the first exception is rethrown here. Nested calls run on the calling thread.
  void ParallelFor(int64_t total, double cost_ns, FunctionRef<void(int64_t begin, int64_t end)> body) {
    if (total <= 0) return;
    if (total == 1 || static_cast<double>(total) * cost_ns < kSerialBelowNs) {
      body(0, total);
      return;
    }
    DoParallelFor(total, cost_ns, body);
  }

  /// Work below this many nanoseconds is not worth waking a second thread.
  static constexpr double kSerialBelowNs = 10'000;

 protected:
  virtual void DoParallelFor(int64_t total, double cost_ns, FunctionRef<void(int64_t, int64_t)> body) = 0;
};

}  // namespace tessera
