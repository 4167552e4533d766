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
    const std::lock_guard lock(queue_->mutex);
    queue_->ending = true;
  }
  queue_->changed.notify_one();
  if (thread_.get_id() == std::this_thread::get_id()) {  // in a callback, which lets go of the session
    thread_.detach();
    queue_->Work();
  } else {
    thread_.join();
  }
}

void AsyncRuns::Add(std::function<void()> run) {
  const std::lock_guard lock(queue_->mutex);
  if (!thread_.joinable()) {
    generation_ = ForkGeneration();
    thread_ = std::thread([queue = queue_] { queue->Work(); });
  }
  Require(generation_ == ForkGeneration(), "the session was made before this process was forked; make one here");
  queue_->waiting.push_back(std::move(run));
  queue_->changed.notify_one();
}

void AsyncRuns::Queue::Work() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return ending || !waiting.empty(); });
    if (waiting.empty()) return;
    const std::function<void()> run = std::move(waiting.front());
    waiting.pop_front();
    lock.unlock();
    run();
    lock.lock();
  }
}

}  // namespace tessera::c_abi
