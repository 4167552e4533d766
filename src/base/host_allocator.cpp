#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <limits>
#include <mutex>
#include <new>
#include <unordered_map>

#include "base/check.h"
#include "base/fork.h"
#include "base/pages.h"
#include "base/stagger.h"
#include "tessera/memory.h"

namespace tessera {
namespace {

class PlainHostAllocator final : public Allocator {
 public:
  const MemoryInfo& memory() const noexcept override { return memory_; }
  void* Allocate(size_t bytes) override {
    // Beyond that, rounding up to the alignment would wrap around.
    constexpr size_t kMost = std::numeric_limits<std::ptrdiff_t>::max() - kHugePage;
    void* buffer = nullptr;
    if (bytes <= kMost) buffer = bytes >= kStaggerFrom ? AllocateLarge(bytes) : Take(bytes, kHostAlignment);
    if (buffer == nullptr)
      Fail(ErrorCode::kRuntimeException, "out of memory: {} bytes of host memory were asked for", bytes);
    return buffer;
  }
  void Free(void* buffer) noexcept override {
    if (num_large_.load(std::memory_order_relaxed) != 0 && FreeLarge(buffer)) return;
    ::operator delete(buffer, std::align_val_t{kHostAlignment});
  }

 private:
  struct Large {
    void* base;
    size_t alignment;
  };

  static void* Take(size_t bytes, size_t alignment) {
    return ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
  }

  void* AllocateLarge(size_t bytes) {
    const size_t place = next_.fetch_add(kStagger, std::memory_order_relaxed) % kPage;
    // A block of one huge page or less may be a region of which little is ever touched.
    const bool huge = bytes > kHugePage;
    const Large large = {.base = Take(bytes + place, huge ? kHugePage : kPage), .alignment = huge ? kHugePage : kPage};
    if (large.base == nullptr) return nullptr;
    // Only whole huge pages inside the block: the rest stays with small ones and costs nothing until it is touched.
    if (huge) madvise(large.base, (bytes + place) / kHugePage * kHugePage, MADV_HUGEPAGE);
    void* buffer = static_cast<std::byte*>(large.base) + place;
    const std::lock_guard lock(mutex_);
    try {
      large_.emplace(buffer, large);
    } catch (...) {
      ::operator delete(large.base, std::align_val_t{large.alignment});
      throw;
    }
    num_large_.fetch_add(1, std::memory_order_relaxed);
    return buffer;
  }

  bool FreeLarge(void* buffer) noexcept {
    std::unique_lock lock(mutex_);
    const auto found = large_.find(buffer);
    if (found == large_.end()) return false;
    const Large large = found->second;
    large_.erase(found);
    num_large_.fetch_sub(1, std::memory_order_relaxed);
    lock.unlock();
    ::operator delete(large.base, std::align_val_t{large.alignment});
    return true;
  }

  const MemoryInfo memory_;
  std::atomic<size_t> next_{0};
  std::atomic<size_t> num_large_{0};
  ForkMutex mutex_;
  std::unordered_map<void*, Large> large_;
};

}  // namespace

Allocator& HostAllocator() {
  // Never destroyed: tensors in static storage may outlive it otherwise.
  static auto& allocator = *new PlainHostAllocator;
  return allocator;
}

}  // namespace tessera
