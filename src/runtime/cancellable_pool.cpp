#include "runtime/cancellable_pool.h"

#include "base/check.h"

namespace tessera {

void ThrowCancelled() { Fail(ErrorCode::kFail, "the run was cancelled through its RunOptions (ResetCancel lets them run again)"); }

}  // namespace tessera
