#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "base/rounding.h"
#include "tessera/memory.h"

namespace tessera {

/// Memory of the step under way: pieces of a planned buffer, allocations where that is too small.
class Scratch {
 public:
  explicit Scratch(Allocator& allocator) : allocator_(allocator) {}
  ~Scratch() { FreeOverflow(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void Begin(std::byte* buffer, size_t size) noexcept {
    buffer_ = buffer;
    size_ = size;
    used_.store(0, std::memory_order_relaxed);
  }
  /// What the step took in all.
  size_t End() noexcept {
    if (!overflow_.empty()) [[unlikely]]
      FreeOverflow();
    return used_.load(std::memory_order_relaxed);
  }
  /// Any thread of the step may call.
  void* Take(size_t bytes) {
    const size_t rounded = RoundUp(bytes, kHostAlignment);
    if (rounded < bytes)
      Fail(ErrorCode::kRuntimeException, "out of memory: {} bytes of scratch memory were asked for", bytes);
    const size_t begin = used_.fetch_add(rounded, std::memory_order_relaxed);
    if (begin <= size_ && rounded <= size_ - begin) return buffer_ + begin;
    const std::lock_guard lock(mutex_);
    // The list grows first: a buffer that it does not take in would never be freed.
    if (overflow_.size() == overflow_.capacity()) overflow_.reserve(2 * overflow_.size() + 1);
    overflow_.push_back(allocator_.Allocate(rounded > 0 ? rounded : 1));
    return overflow_.back();
  }

 private:
  void FreeOverflow() noexcept {
    for (void* buffer : overflow_) allocator_.Free(buffer);
    overflow_.clear();
  }

  Allocator& allocator_;
  std::byte* buffer_ = nullptr;
  size_t size_ = 0;
  std::atomic<size_t> used_{0};
  std::mutex mutex_;
  std::vector<void*> overflow_;
};

}  // namespace tessera
