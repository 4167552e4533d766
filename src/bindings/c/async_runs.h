#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace tessera::c_abi {

/// Runs that the client does not wait for, one after another on a thread of their own, which starts with the first.
class AsyncRuns {
 public:
  AsyncRuns() = default;
  /// Waits for the runs that were added; from a callback of one of them, makes those that are left itself.
  ~AsyncRuns();
  AsyncRuns(const AsyncRuns&) = delete;
  AsyncRuns& operator=(const AsyncRuns&) = delete;

  /// `run` throws nothing. Throws Error in a process that was forked since.
  void Add(std::function<void()> run);

 private:
  /// Outlives what a callback destroys.
  struct Queue {
    /// Until it is ending and empty.
    void Work();

    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> waiting;
    bool ending = false;
  };

  const std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
  std::thread thread_;
  uint32_t generation_ = 0;  // of the process that the thread is in
};

}  // namespace tessera::c_abi
