#include "base/work_array.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>

#include "base/checked.h"
#include "base/rounding.h"
#include "tessera/memory.h"

namespace tessera {
namespace {

/// Blocks lie in blocks: one buffer for each depth, as large as any block there was.
struct Workspaces {
  static constexpr size_t kMostNested = 8;  // deeper ones come and go
  static constexpr size_t kLeast = size_t{16} << 10;

  struct Buffer {
    void* memory = nullptr;
    size_t size = 0;
  };

  ~Workspaces() {
    for (const Buffer& buffer : buffers) std::free(buffer.memory);
  }

  Buffer buffers[kMostNested];
  size_t depth = 0;
};

thread_local Workspaces workspaces;

void* Allocate(size_t bytes) {
  void* memory = bytes > PTRDIFF_MAX / 2 ? nullptr : std::aligned_alloc(kHostAlignment, bytes);
  if (memory == nullptr)
    Fail(ErrorCode::kRuntimeException, "out of memory: {} bytes of a thread's workspace were asked for", bytes);
  return memory;
}

}  // namespace

void* ThreadWorkspace::Take(size_t count, size_t element_size) {
  const size_t bytes = CheckedMul(count, element_size);
  Workspaces& own = workspaces;
  if (own.depth >= Workspaces::kMostNested) {
    void* memory = Allocate(RoundUp(std::max(bytes, size_t{1}), kHostAlignment));
    ++own.depth;
    return memory;
  }
  Workspaces::Buffer& buffer = own.buffers[own.depth];
  if (buffer.size < bytes || buffer.memory == nullptr) {
    const size_t size = bytes > PTRDIFF_MAX / 4 ? bytes : std::bit_ceil(std::max(bytes, Workspaces::kLeast));
    void* memory = Allocate(size);
    std::free(buffer.memory);
    buffer = {memory, size};
  }
  ++own.depth;
  return buffer.memory;
}

void ThreadWorkspace::Release(void* memory) noexcept {
  if (--workspaces.depth >= Workspaces::kMostNested) std::free(memory);
}

}  // namespace tessera
