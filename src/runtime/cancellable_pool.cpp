#include "runtime/cancellable_pool.h"

#include "base/check.h"

namespace tessera {

void ThrowCancelled(const StopSignal& stop) {
  if (stop.timeout().count() > 0 && !stop.flagged()) {
    Fail(ErrorCode::kFail, "the run took longer than RunOptions::timeout, {} ms; allow it more time", stop.timeout().count());
  }
  Fail(ErrorCode::kFail, "the run was cancelled through its RunOptions (ResetCancel lets them run again)");
}

}  // namespace tessera
