#pragma once

#include <cstddef>
#include <type_traits>

namespace tessera {

/// Memory of the calling thread for the length of a block, aligned for vectors. A thread keeps it for the next blocks.
class ThreadWorkspace {
 public:
  ThreadWorkspace(size_t count, size_t element_size) : memory_(Take(count, element_size)) {}
  ~ThreadWorkspace() { Release(memory_); }
  ThreadWorkspace(const ThreadWorkspace&) = delete;
  ThreadWorkspace& operator=(const ThreadWorkspace&) = delete;

 protected:
  void* memory() const noexcept { return memory_; }

 private:
  static void* Take(size_t count, size_t element_size);  // throws Error where there is no memory
  static void Release(void* memory) noexcept;

  void* const memory_;
};

/// What would be an array of the function, uninitialized, but is too large for the stacks of applications' threads: with
/// musl these have 128 KiB, and many a host gives its threads less. No allocation but a thread's first.
template <class T>
class WorkArray : ThreadWorkspace {
  static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>);

 public:
  explicit WorkArray(size_t count) : ThreadWorkspace(count, sizeof(T)) {}

  T* data() const noexcept { return static_cast<T*>(memory()); }
  operator T*() const noexcept { return data(); }
};

}  // namespace tessera
