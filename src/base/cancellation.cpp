#include "base/cancellation.h"

#include <utility>

#include "base/check.h"

namespace tessera {
namespace {

struct Current {
  const StopSignal* stop = nullptr;
  void (*fail)(const StopSignal&) = nullptr;
};
constinit thread_local Current current;

}  // namespace

void ThrowCancelled(const StopSignal& stop) {
  if (stop.timeout().count() != 0 && !stop.flagged()) {
    Fail(ErrorCode::kFail, "the run took longer than RunOptions::timeout, {} ms; allow it more time",
         stop.timeout().count());
  }
  Fail(ErrorCode::kFail, "the run was cancelled through its RunOptions (ResetCancel lets them run again)");
}

CancelScope::CancelScope(const StopSignal* stop, void (*fail)(const StopSignal&)) noexcept
    : before_(std::exchange(current.stop, stop)), fail_before_(std::exchange(current.fail, fail)) {}

CancelScope::~CancelScope() { current = {before_, fail_before_}; }

bool CancelRequested() noexcept { return current.stop != nullptr && current.stop->requested(); }

void CancellationPoint() {
  if (CancelRequested()) [[unlikely]]
    current.fail(*current.stop);
}

}  // namespace tessera
