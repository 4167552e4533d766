#pragma once

#include "runtime/executor.h"

namespace tessera {

/// Runs the steps of a plan as soon as what they read is there, on the session's inter-op threads.
void RunParallel(Executor& executor, Frame& frame, RunState& state);

}  // namespace tessera
