#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

namespace tessera {

/// Asks work under way to stop: because somebody said so, or because its time is over. Copies look at the same flag.
class StopSignal {
 public:
  using Clock = std::chrono::steady_clock;

  StopSignal() = default;
  /// `flag`: null, or outlives the signal. `timeout`: from now on; 0: none; negative: it is over already.
  explicit StopSignal(const std::atomic<bool>* flag, std::chrono::milliseconds timeout = {})
      : flag_(flag), deadline_(timeout.count() == 0 ? kNever : After(Clock::now(), timeout)), timeout_(timeout) {}

  /// The same with no more time than that from now on.
  StopSignal Within(std::chrono::milliseconds time) const noexcept {
    StopSignal sooner = *this;
    const Clock::time_point deadline = After(Clock::now(), time);
    if (deadline_ <= deadline) return sooner;
    sooner.deadline_ = deadline;
    sooner.timeout_ = time;
    return sooner;
  }

  bool requested() const noexcept { return flagged() || late(); }
  bool flagged() const noexcept { return flag_ != nullptr && flag_->load(std::memory_order_relaxed); }
  bool late() const noexcept { return deadline_ != kNever && Clock::now() >= deadline_; }
  std::chrono::milliseconds timeout() const noexcept { return timeout_; }

 private:
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  /// The clock counts nanoseconds: more time than it can tell is never over.
  static Clock::time_point After(Clock::time_point now, std::chrono::milliseconds time) noexcept {
    if (time >= std::chrono::duration_cast<std::chrono::milliseconds>(kNever - now)) return kNever;
    return now + std::max(time, std::chrono::milliseconds(0));
  }

  const std::atomic<bool>* flag_ = nullptr;
  Clock::time_point deadline_ = kNever;
  std::chrono::milliseconds timeout_{};
};

}  // namespace tessera
