#include "base/weight_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "base/fork.h"
#include "base/pages.h"
#include "base/rounding.h"
#include "base/sanitizers.h"
#include "base/stagger.h"

namespace tessera {
namespace {

/// Address space that is reserved at once; pages that nothing was written to are no memory.
constexpr size_t kChunk = size_t{64} << 20;

/// A mapping that buffers are laid into from its beginning.
class Chunk {
 public:
  explicit Chunk(size_t bytes) : size_(RoundUp(bytes, kHugePage)) {
    mapped_ = mmap(nullptr, size_ + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped_ == MAP_FAILED) return;
    buffers_.resize(size_ / kHugePage);
    base_ = reinterpret_cast<std::byte*>(RoundUp(reinterpret_cast<uintptr_t>(mapped_), kHugePage));
    // The first one has small pages, so that what a huge page wastes is never most of the memory.
    if (size_ > kHugePage) madvise(base_ + kHugePage, size_ - kHugePage, MADV_HUGEPAGE);
  }
  ~Chunk() {
    if (mapped_ != MAP_FAILED) munmap(mapped_, size_ + kHugePage);
  }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  bool mapped() const noexcept { return base_ != nullptr; }
  bool empty() const noexcept { return live_ == 0; }
  std::byte* base() const noexcept { return base_; }

  /// Null when there is no room.
  std::byte* Take(size_t bytes, size_t place) {
    size_t begin = RoundUp(used_, kHostAlignment);
    if (bytes >= kStaggerFrom) begin = begin / kPage * kPage + place + (begin % kPage > place ? kPage : 0);
    if (begin > size_ || bytes > size_ - begin) return nullptr;
    used_ = begin + bytes;
    Count(begin, bytes, +1);
    return base_ + begin;
  }

  /// Gives huge pages back that hold no buffer any more, but for the one that the next comes into.
  void GiveBack(const void* buffer, size_t bytes) {
    const auto begin = static_cast<size_t>(static_cast<const std::byte*>(buffer) - base_);
    Count(begin, bytes, -1);
    for (size_t i = begin / kHugePage; i < RoundUp(begin + bytes, kHugePage) / kHugePage; ++i) {
      if (buffers_[i] == 0 && i != used_ / kHugePage) madvise(base_ + i * kHugePage, kHugePage, MADV_DONTNEED);
    }
  }

  /// Bytes of a buffer that lie in small pages: those are best touched together.
  size_t SmallBytes(const std::byte* buffer, size_t bytes) const noexcept {
    const auto begin = static_cast<size_t>(buffer - base_);
    return begin >= kHugePage ? 0 : std::min(bytes, kHugePage - begin);
  }

 private:
  void Count(size_t begin, size_t bytes, int change) {
    for (size_t i = begin / kHugePage; i < RoundUp(begin + bytes, kHugePage) / kHugePage; ++i) {
      buffers_[i] += static_cast<uint32_t>(change);
    }
    live_ += static_cast<size_t>(change);
  }

  const size_t size_;
  void* mapped_ = MAP_FAILED;
  std::byte* base_ = nullptr;
  size_t used_ = 0;
  size_t live_ = 0;                // buffers
  std::vector<uint32_t> buffers_;  // by huge page
};

class WeightAllocator final : public Allocator {
 public:
  const MemoryInfo& memory() const noexcept override { return memory_; }

  void* Allocate(size_t bytes) override {
    if (bytes > SIZE_MAX / 2)
      Fail(ErrorCode::kRuntimeException, "out of memory: {} bytes of host memory were asked for", bytes);
    const size_t size = std::max<size_t>(bytes, 1);
    std::byte* buffer = nullptr;
    size_t small = 0;
    {
      const std::lock_guard lock(mutex_);
      const size_t place = next_ = size >= kStaggerFrom ? (next_ + kStagger) % kPage : next_;
      if (current_ != nullptr) buffer = current_->Take(size, place);
      if (buffer == nullptr) buffer = AddChunk(size + kPage).Take(size, place);
      sizes_.emplace(buffer, size);
      small = current_->SmallBytes(buffer, size);
    }
    if (small > 0) Touch(buffer, small);
    return buffer;
  }

  void Free(void* buffer) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto size = sizes_.find(buffer);
    auto chunk = chunks_.upper_bound(static_cast<const std::byte*>(buffer));
    if (size == sizes_.end() || chunk == chunks_.begin()) return;
    --chunk;
    chunk->second->GiveBack(buffer, size->second);
    sizes_.erase(size);
    if (!chunk->second->empty()) return;
    if (current_ == chunk->second.get()) current_ = nullptr;
    chunks_.erase(chunk);
  }

 private:
  /// Makes it the current one.
  Chunk& AddChunk(size_t least) {
    for (const size_t bytes : {std::max(least, kChunk), least}) {
      auto chunk = std::make_unique<Chunk>(bytes);
      if (!chunk->mapped()) continue;
      const std::byte* base = chunk->base();
      return *(current_ = (chunks_[base] = std::move(chunk)).get());
    }
    Fail(ErrorCode::kRuntimeException, "out of memory: {} bytes of host memory were asked for", least);
  }

  /// Backs whole pages with memory in one call; where the kernel cannot, the first writes to them do.
  static void Touch(std::byte* buffer, size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    const uintptr_t begin = RoundUp(reinterpret_cast<uintptr_t>(buffer), kPage);
    const uintptr_t end = reinterpret_cast<uintptr_t>(buffer) + bytes;
    if (end > begin + 4 * kPage) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
#endif
  }

  const MemoryInfo memory_;
  ForkMutex mutex_;
  std::map<const std::byte*, std::unique_ptr<Chunk>> chunks_;  // by base
  std::unordered_map<void*, size_t> sizes_;
  Chunk* current_ = nullptr;
  size_t next_ = 0;
};

}  // namespace

Allocator& WeightMemory() {
#ifdef __SANITIZE_ADDRESS__
  return HostAllocator();  // tells one buffer's end from the next one's beginning
#else
  // Never destroyed: weights of sessions in static storage may outlive it otherwise.
  static auto& allocator = *new WeightAllocator;
  return allocator;
#endif
}

}  // namespace tessera
