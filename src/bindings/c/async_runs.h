#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tessera::c_abi {

/// Runs that the client does not wait for, one after another on a thread of their own, which starts with the first.
class AsyncRuns {
 public:
  AsyncRuns() = default;
  /// Waits for the runs that were added.
  ~AsyncRuns();
  AsyncRuns(const AsyncRuns&) = delete;
  AsyncRuns& operator=(const AsyncRuns&) = delete;

  /// `run` throws nothing. Throws Error in a process that was forked since.
  void Add(std::function<void()> run);

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool ending_ = false;
  std::thread thread_;
  uint32_t generation_ = 0;  // of the process that the thread is in
};

}  // namespace tessera::c_abi
