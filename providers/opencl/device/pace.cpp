#include "opencl/device/pace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/cancellation.h"
#include "opencl/device/errors.h"

namespace tessera::opencl {
namespace {

using Clock = std::chrono::steady_clock;

double NanosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// The parts of a launch under way: each of as many groups as fit the time, by what the last one took of it.
class Parts {
 public:
  /// `groups`: of the first part.
  Parts(QueuePace& queue, const std::array<bool, 3>& divides, double part_ns, double groups,
        FunctionRef<void(const GroupRange&)> enqueue)
      : queue_(queue), divides_(divides), part_ns_(part_ns), groups_(groups), enqueue_(enqueue) {}

  /// Divides along dimension `d`, and where one slice is too much, along those below it.
  void Run(GroupRange range, size_t d) {
    if (!divides_[d]) return d == 0 ? Enqueue(range) : Run(range, d - 1);
    const size_t end = range.first[d] + range.count[d];
    double slice = 1;
    for (size_t i = 0; i < d; ++i) slice *= static_cast<double>(range.count[i]);
    while (range.first[d] < end) {
      const size_t left = end - range.first[d];
      const double fit = groups_ / slice;
      const bool too_much = fit < 1 && d > 0 && slice > 1;
      range.count[d] = too_much                           ? 1
                       : fit >= static_cast<double>(left) ? left
                                                          : std::max<size_t>(1, static_cast<size_t>(fit));
      too_much ? Run(range, d - 1) : Enqueue(range);
      range.first[d] += range.count[d];
    }
  }
  double took_ns() const noexcept { return took_ns_; }

 private:
  void Enqueue(const GroupRange& range) {
    constexpr double kMostGrowth = 16;
    const Clock::time_point start = Clock::now();
    enqueue_(range);
    queue_.Drain();
    const double ns = std::max(NanosecondsSince(start), 1.0);
    took_ns_ += ns;
    groups_ = std::max(1.0, range.groups() * std::min(kMostGrowth, part_ns_ / ns));
  }

  QueuePace& queue_;
  const std::array<bool, 3>& divides_;
  const double part_ns_;
  double groups_;
  double took_ns_ = 0;
  FunctionRef<void(const GroupRange&)> enqueue_;
};

}  // namespace

void QueuePace::Drain() {
  Forget();
  Finish(queue_);
  CancellationPoint();
}

void QueuePace::WaitForOlder() {
  cl_event marker = nullptr;
  Check(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, &marker), "clEnqueueMarkerWithWaitList");
  Event newer(marker);
  Check(clFlush(queue_), "clFlush");
  if (older_.get() != nullptr) {
    cl_event older = older_.get();
    Check(clWaitForEvents(1, &older), "clWaitForEvents");
  }
  older_ = std::move(newer);
  pending_ns_ = 0;
  CancellationPoint();
}

LaunchPace::LaunchPace(std::string_view source) {
  for (size_t d = 0; d < divides_.size(); ++d)
    divides_[d] = source.find(fmt::format("get_global_size({})", d)) == std::string_view::npos;
}

void LaunchPace::InParts(QueuePace& queue, const GroupRange& all, double work, size_t least_groups,
                         FunctionRef<void(const GroupRange&)> enqueue) {
  queue.Drain();
  const double fit = all.groups() * kPartNs / Expected(work);
  Parts parts(queue, divides_, kPartNs, std::max(fit, static_cast<double>(least_groups)), enqueue);
  parts.Run(all, 2);
  // Of launches that need no parts the largest says the most; long ones are measured anyway.
  known_ns_.store(parts.took_ns(), std::memory_order_relaxed);
  known_work_.store(work, std::memory_order_relaxed);
}

}  // namespace tessera::opencl
