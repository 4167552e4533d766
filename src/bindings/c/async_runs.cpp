#include "bindings/c/async_runs.h"

#include "base/check.h"
#include "base/fork.h"

namespace tessera::c_abi {

AsyncRuns::~AsyncRuns() {
  if (!thread_.joinable()) return;
  if (generation_ != ForkGeneration()) {  // the thread is the parent's
    thread_.detach();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void AsyncRuns::Add(std::function<void()> run) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) {
    generation_ = ForkGeneration();
    thread_ = std::thread([this] { Work(); });
  }
  Require(generation_ == ForkGeneration(), "the session was made before this process was forked; make one here");
  waiting_.push_back(std::move(run));
  changed_.notify_one();
}

void AsyncRuns::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::function<void()> run = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    run();
    lock.lock();
  }
}

}  // namespace tessera::c_abi
