#pragma once

// A thread with a stack of a given size: inline, as programs use it that link the shared library alone.

#include <pthread.h>

#include <cstddef>
#include <exception>

#include "tessera/provider/function_ref.h"

namespace tessera {

/// Calls body() on a thread with so many bytes of stack, and waits for it; an exception goes to the caller. Not 0: the
/// system's error, and no thread was started.
inline int CallOnThread(size_t stack_bytes, FunctionRef<void()> body) {
  struct Call {
    FunctionRef<void()> body;
    std::exception_ptr error;
  } call{body, nullptr};
  const auto enter = [](void* argument) -> void* {
    Call& made = *static_cast<Call*>(argument);
    try {
      made.body();
    } catch (...) {
      made.error = std::current_exception();
    }
    return nullptr;
  };
  pthread_attr_t attributes;
  int failed = pthread_attr_init(&attributes);
  if (failed != 0) return failed;
  pthread_t thread;
  failed = pthread_attr_setstacksize(&attributes, stack_bytes);
  if (failed == 0) failed = pthread_create(&thread, &attributes, enter, &call);
  pthread_attr_destroy(&attributes);
  if (failed != 0) return failed;
  pthread_join(thread, nullptr);
  if (call.error != nullptr) std::rethrow_exception(call.error);
  return 0;
}

}  // namespace tessera
