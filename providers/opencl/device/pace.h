#pragma once

// Feeds a queue in parts: what is enqueued cannot be taken back, so that no more of it may lie there than a cancelled run
// can wait for. Short launches are enqueued as they come; long ones part after part, each for the time that the last ones
// took.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opencl/device/device.h"
#include "tessera/provider/function_ref.h"

namespace tessera::opencl {

/// Groups of a launch, along each dimension.
struct GroupRange {
  std::array<size_t, 3> first{};
  std::array<size_t, 3> count{};
  double groups() const noexcept {
    return static_cast<double>(count[0]) * static_cast<double>(count[1]) * static_cast<double>(count[2]);
  }
};

/// What one run has in a queue, as far as it is known.
class QueuePace {
 public:
  explicit QueuePace(cl_command_queue queue) noexcept : queue_(queue) {}

  cl_command_queue queue() const noexcept { return queue_; }

  /// A command that takes about so long was enqueued. Waits where much lies in the queue; a cancellation point.
  void Enqueued(double ns) {
    pending_ns_ += ns;
    if (pending_ns_ > kMostPendingNs) [[unlikely]]
      WaitForOlder();
  }
  /// Waits for all that was enqueued; a cancellation point.
  void Drain();
  /// Somebody else waits for all that was enqueued.
  void Forget() noexcept {
    older_ = Event();
    pending_ns_ = 0;
  }

 private:
  static constexpr double kMostPendingNs = 8e6;

  /// Waits for what was there when it last waited: the device has work meanwhile.
  void WaitForOlder();

  cl_command_queue queue_;
  double pending_ns_ = 0;
  Event older_;
};

/// How long a kernel's launches take. What one takes depends on its groups and on the bytes that they read, at most on
/// both.
class LaunchPace {
 public:
  /// `source`: of the kernel, which may ask for the size of a dimension, so that this one is not divided.
  explicit LaunchPace(std::string_view source);

  /// Enqueues all groups of a launch whose operands have `bytes`: enqueue(range) those of a range.
  void Run(QueuePace& queue, const std::array<size_t, 3>& groups, double bytes, size_t least_groups,
           FunctionRef<void(const GroupRange&)> enqueue) {
    const GroupRange all{{}, groups};
    const double work = all.groups() * (bytes + kLeastBytes), expected = Expected(work);
    if (expected > kPartNs) [[unlikely]]
      return InParts(queue, all, work, least_groups, enqueue);
    enqueue(all);
    queue.Enqueued(expected);
  }

 private:
  static constexpr double kPartNs = 5e6, kLeastBytes = 256;

  /// Nanoseconds of `work`, from the largest that was measured; beyond all bounds where none was.
  double Expected(double work) const noexcept {
    const double known = known_work_.load(std::memory_order_relaxed), took = known_ns_.load(std::memory_order_relaxed);
    return work <= known ? took : took / known * work;
  }
  void InParts(QueuePace& queue, const GroupRange& all, double work, size_t least_groups,
               FunctionRef<void(const GroupRange&)> enqueue);

  std::array<bool, 3> divides_;
  std::atomic<double> known_work_{1}, known_ns_{1e300};
};

}  // namespace tessera::opencl
