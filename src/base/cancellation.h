#pragma once

// Cancellation points: where long loops look whether the run that this thread works for is to end. The thread knows its run
// (CancelScope), so that a loop at any depth, in a micro-kernel or a callback of a library, needs no context for it.

#include <algorithm>
#include <cstdint>

#include "base/stop_signal.h"

namespace tessera {

/// The error that ends a run that was cancelled or whose time is over.
[[noreturn]] void ThrowCancelled(const StopSignal& stop);

/// While it lives, this thread works for the run that `stop` ends; null: for none. The signal outlives it.
class CancelScope {
 public:
  /// `fail`: throws the error of work that was stopped, another one for loads.
  explicit CancelScope(const StopSignal* stop, void (*fail)(const StopSignal&) = ThrowCancelled) noexcept;
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  const StopSignal* const before_;
  void (*const fail_before_)(const StopSignal&);
};

/// Whether the run that this thread works for is to end; for callbacks through which no exception may pass.
bool CancelRequested() noexcept;

/// Throws the error of stopped work where CancelRequested(). A few nanoseconds: for loops whose steps take a microsecond.
void CancellationPoint();

/// How much estimated work, in nanoseconds, lies between cancellation points: estimates may be ten times too low.
inline constexpr double kCancellationPointNs = 500'000;

/// Estimated work of this thread since it looked last, of loops that were each too short to look: a million of them are
/// long, whoever calls them.
inline constinit thread_local double unwatched_ns = 0;

/// Counts work that has no cancellation point of its own: looks where it has become too much.
inline void CountWork(double ns) {
  unwatched_ns += ns;
  if (unwatched_ns < kCancellationPointNs) [[likely]]
    return;
  unwatched_ns = 0;
  CancellationPoint();
}

/// A cancellation point for loops with shorter steps: looks once for every kCancellationPointNs of estimated work, that of
/// loops before it included.
class PacedCancellationPoint {
 public:
  /// `cost_ns`: of one unit of work.
  explicit PacedCancellationPoint(double cost_ns)
      : cost_ns_(cost_ns),
        every_(std::max<int64_t>(1, static_cast<int64_t>(kCancellationPointNs / cost_ns))),
        left_(every_) {
    CountWork(0);
  }
  ~PacedCancellationPoint() { unwatched_ns += static_cast<double>(every_ - left_) * cost_ns_; }
  PacedCancellationPoint(const PacedCancellationPoint&) = delete;
  PacedCancellationPoint& operator=(const PacedCancellationPoint&) = delete;
  void Pass(int64_t units = 1) {
    left_ -= units;
    if (left_ > 0) [[likely]]
      return;
    left_ = every_;
    CancellationPoint();
  }

 private:
  const double cost_ns_;
  const int64_t every_;
  int64_t left_;
};

/// Calls body(begin, end) on consecutive pieces of [begin, end), with cancellation points between them; `cost_ns`: of one
/// item.
template <class Body>
void InCancellablePieces(int64_t begin, int64_t end, double cost_ns, Body&& body) {
  const double most = kCancellationPointNs / cost_ns;
  while (static_cast<double>(end - begin) > 2 * most) {
    constexpr int64_t kAlign = 64;  // keeps vector loops whole
    int64_t piece = static_cast<int64_t>(most) + 1;
    if (piece > kAlign) piece = piece / kAlign * kAlign;
    body(begin, begin + piece);
    begin += piece;
    CancellationPoint();
  }
  if (begin >= end) return;
  CountWork(static_cast<double>(end - begin) * cost_ns);
  body(begin, end);
}

}  // namespace tessera
