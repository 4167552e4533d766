#include "allocation_count.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> count{0};

void* CountedAllocate(std::size_t size, std::size_t alignment) {
  count.fetch_add(1, std::memory_order_relaxed);
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  return alignment <= alignof(std::max_align_t) ? std::malloc(size == 0 ? 1 : size)
                                                : std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}

void* CountedAllocateOrThrow(std::size_t size, std::size_t alignment) {
  if (void* memory = CountedAllocate(size, alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace

namespace tessera::perf {
int64_t AllocationCount() noexcept { return count.load(std::memory_order_relaxed); }
}  // namespace tessera::perf

// The program's replacements serve libtessera.so too: the dynamic linker finds them first.
void* operator new(std::size_t size) { return CountedAllocateOrThrow(size, 1); }
void* operator new[](std::size_t size) { return CountedAllocateOrThrow(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return CountedAllocateOrThrow(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return CountedAllocateOrThrow(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return CountedAllocate(size, 1); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return CountedAllocate(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return CountedAllocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
