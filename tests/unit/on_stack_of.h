#pragma once

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstddef>

namespace tessera::testing {

/// Calls run() on a thread with `bytes` of stack, below which nothing may be touched. The stack is memory of its own: the C
/// library may have larger ones left from threads before, and would give one of those.
template <class Run>
void OnStackOf(size_t bytes, Run run) {
  constexpr size_t kGuard = size_t{64} << 10;
  void* memory = mmap(nullptr, kGuard + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory, kGuard, PROT_NONE), 0);
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstack(&attributes, static_cast<std::byte*>(memory) + kGuard, bytes), 0);
  pthread_t thread;
  const auto enter = [](void* argument) -> void* {
    (*static_cast<Run*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, enter, &run), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  munmap(memory, kGuard + bytes);
}

}  // namespace tessera::testing
