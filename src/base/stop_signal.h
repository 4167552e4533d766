#pragma once

#include <atomic>
#include <chrono>

namespace tessera {

/// Asks work under way to stop: because somebody said so, or because its time is over. Copies look at the same flag.
class StopSignal {
 public:
  using Clock = std::chrono::steady_clock;

  StopSignal() = default;
  /// `flag`: null, or outlives the signal. `timeout`: from now on; 0: none.
  explicit StopSignal(const std::atomic<bool>* flag, std::chrono::milliseconds timeout = {})
      : flag_(flag), deadline_(timeout.count() > 0 ? Clock::now() + timeout : kNever), timeout_(timeout) {}

  /// The same with no more time than that from now on.
  StopSignal Within(std::chrono::milliseconds time) const noexcept {
    StopSignal sooner = *this;
    const Clock::time_point now = Clock::now();
    if (deadline_ - now <= time) return sooner;
    sooner.deadline_ = now + time;
    sooner.timeout_ = time;
    return sooner;
  }

  bool requested() const noexcept { return flagged() || late(); }
  bool flagged() const noexcept { return flag_ != nullptr && flag_->load(std::memory_order_relaxed); }
  bool late() const noexcept { return deadline_ != kNever && Clock::now() >= deadline_; }
  std::chrono::milliseconds timeout() const noexcept { return timeout_; }

 private:
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  const std::atomic<bool>* flag_ = nullptr;
  Clock::time_point deadline_ = kNever;
  std::chrono::milliseconds timeout_{};
};

}  // namespace tessera
