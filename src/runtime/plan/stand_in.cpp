#include "runtime/plan/stand_in.h"

#include <exception>
#include <memory>
#include <semaphore>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/fork.h"

namespace tessera {
namespace {

/// A thread that does one task after another for the one that survived the fork, and lives as long as the process.
class StandIn {
 public:
  StandIn() {
    std::thread([this] { Serve(); }).detach();
  }

  uint32_t generation() const noexcept { return generation_; }

  void Do(FunctionRef<void()> task) {
    task_ = &task;
    asked_.release();
    done_.acquire();
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void Serve() noexcept {
    for (;;) {
      asked_.acquire();
      try {
        (*task_)();
      } catch (...) {
        error_ = std::current_exception();
      }
      done_.release();
    }
  }

  const uint32_t generation_ = ForkGeneration();
  std::binary_semaphore asked_{0}, done_{0};
  const FunctionRef<void()>* task_ = nullptr;
  std::exception_ptr error_;
};

}  // namespace

void RunOffForkedThread(FunctionRef<void()> task) {
  if (!SurvivedFork()) return task();
  // A process has one such thread. Never destroyed: its thread ends with the process.
  static thread_local StandIn* stand_in = nullptr;
  if (stand_in == nullptr || stand_in->generation() != ForkGeneration()) {
    try {
      stand_in = new StandIn;
    } catch (const std::system_error& error) {
      Fail(ErrorCode::kFail, "cannot start a thread in place of the one that called fork(): {}; raise the limit of threads",
           error.what());
    }
  }
  stand_in->Do(task);
}

}  // namespace tessera
