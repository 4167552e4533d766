// Sanitizers' own operator new ends the process where memory runs out; this one throws, as the standard says.

#include "faulty_new.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#ifdef TESSERA_WRAPS_ALLOCATIONS  // the linker gives these the calls of what it links: -Wl,--wrap=malloc and the like
extern "C" void* __real_malloc(size_t size);
#else
#define __real_malloc std::malloc
#endif

namespace {

std::atomic<int64_t> calls{0}, failing{0}, live{0};
std::atomic<int> unfailing{0};
std::atomic<const void*> failed_caller{nullptr};

bool Fails(const void* caller) noexcept {
  if (unfailing.load(std::memory_order_relaxed) != 0) return false;
  if (calls.fetch_add(1, std::memory_order_relaxed) + 1 != failing.load(std::memory_order_relaxed)) return false;
  failed_caller = caller;
  return true;
}

void* Allocate(size_t size, size_t alignment, const void* caller) noexcept {
  if (Fails(caller)) return nullptr;
  void* memory = nullptr;
  if (alignment <= alignof(std::max_align_t)) {
    memory = __real_malloc(std::max<size_t>(size, 1));
  } else if (posix_memalign(&memory, alignment, size) != 0) {
    return nullptr;
  }
  if (memory != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

void* AllocateOrThrow(size_t size, size_t alignment, const void* caller) {
  if (void* const memory = Allocate(size, alignment, caller)) return memory;
  throw std::bad_alloc();
}

void Free(void* memory) noexcept {
  if (memory != nullptr) live.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

namespace tessera::fuzz {

void FailAllocation(int64_t n) noexcept {
  calls = 0;
  failing = n;
}
int64_t AllocationsSince() noexcept { return calls; }
int64_t LiveAllocations() noexcept { return live; }
const void* FailedCaller() noexcept { return failed_caller; }
Unfailing::Unfailing() noexcept { ++unfailing; }
Unfailing::~Unfailing() { --unfailing; }

}  // namespace tessera::fuzz

void* operator new(size_t size) { return AllocateOrThrow(size, 1, __builtin_return_address(0)); }
void* operator new[](size_t size) { return AllocateOrThrow(size, 1, __builtin_return_address(0)); }
void* operator new(size_t size, std::align_val_t alignment) {
  return AllocateOrThrow(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return AllocateOrThrow(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size, 1, __builtin_return_address(0)); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return Allocate(size, 1, __builtin_return_address(0)); }
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Allocate(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Allocate(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { Free(memory); }

#ifdef TESSERA_WRAPS_ALLOCATIONS
extern "C" {
void* __real_mmap(void* address, size_t length, int protection, int flags, int file, long offset);
void* __wrap_mmap(void* address, size_t length, int protection, int flags, int file, long offset) {
  return Fails(__builtin_return_address(0)) ? reinterpret_cast<void*>(-1)
                                            : __real_mmap(address, length, protection, flags, file, offset);
}
void* __wrap_malloc(size_t size) { return Fails(__builtin_return_address(0)) ? nullptr : __real_malloc(size); }
void* __real_aligned_alloc(size_t alignment, size_t size);
void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  return Fails(__builtin_return_address(0)) ? nullptr : __real_aligned_alloc(alignment, size);
}
}
#endif
