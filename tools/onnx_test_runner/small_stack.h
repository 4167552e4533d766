#pragma once

#include "tessera/provider/function_ref.h"

namespace tessera::runner {

/// Calls body() on a thread with so many KiB of stack, and waits for it; 0: here. An exception goes to the caller.
void OnStackOf(int kibibytes, FunctionRef<void()> body);

}  // namespace tessera::runner
