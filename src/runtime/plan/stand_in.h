#pragma once

#include "tessera/provider/function_ref.h"

namespace tessera {

/// Calls `task`, and rethrows what it throws. Of a process that was forked, the thread that called fork() has it done by
/// another one: the libgomp team that it may have had in the parent does not exist any more, and libgomp would wait for it.
/// Throws Error(kFail) where that thread cannot be started.
void RunOffForkedThread(FunctionRef<void()> task);

}  // namespace tessera
