#pragma once

#include <cstddef>

#include "tessera/provider/function_ref.h"

namespace tessera {

/// Bytes that are left of the calling thread's stack; the largest number where that is not known: on a stack that is not
/// the thread's own, as fibers have.
size_t StackLeft() noexcept;

/// Throws Error where fewer bytes of stack are left: before what nests as deep as a model says. `what` is named in the
/// error.
void RequireStack(size_t bytes, const char* what);

/// Calls body() with at least `bytes` of stack: here, or on a thread made for it, which this one waits for. An exception
/// goes to the caller.
void WithStack(size_t bytes, FunctionRef<void()> body);

}  // namespace tessera
