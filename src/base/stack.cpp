#include "base/stack.h"

#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/check.h"
#include "base/rounding.h"
#include "base/thread_of_stack.h"

namespace tessera {
namespace {

struct StackRange {
  uintptr_t begin = 0, end = 0;
};

/// Of the calling thread, without its guard; empty where the system does not say.
StackRange FindStack() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* begin = nullptr;
  size_t size = 0, guard = 0;
  const bool found =
      pthread_attr_getstack(&attributes, &begin, &size) == 0 && pthread_attr_getguardsize(&attributes, &guard) == 0;
  pthread_attr_destroy(&attributes);
  if (!found || guard >= size) return {};
  const auto address = reinterpret_cast<uintptr_t>(begin);
  return {address + guard, address + size};
}

}  // namespace

size_t StackLeft() noexcept {
  thread_local const StackRange stack = FindStack();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here >= stack.begin && here < stack.end ? here - stack.begin : std::numeric_limits<size_t>::max();
}

void RequireStack(size_t bytes, const char* what) {
  const size_t left = StackLeft();
  if (left >= bytes) [[likely]]
    return;
  Fail(ErrorCode::kRuntimeException,
       "{} bytes of stack are left to the calling thread, {} takes {}: run it on a thread with a larger stack", left, what,
       bytes);
}

void WithStack(size_t bytes, FunctionRef<void()> body) {
  if (StackLeft() >= bytes) return body();
  constexpr size_t kSpare = size_t{64} << 10;  // what the thread itself takes
  const int failed = CallOnThread(RoundUp(bytes + kSpare, kSpare), body);
  if (failed != 0) {
    Fail(ErrorCode::kRuntimeException,
         "a thread with {} bytes of stack cannot be started (error {}), and the calling thread has only {} left", bytes,
         failed, StackLeft());
  }
}

}  // namespace tessera
