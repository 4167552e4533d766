#pragma once

// A caching allocator over a raw one: few large regions from the device, cut into chunks that are merged again when freed.

#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "tessera/memory.h"

namespace tessera {

enum class ArenaExtend : int8_t { kNextPowerOfTwo, kSameAsRequested };

struct ArenaSettings {
  ArenaExtend extend = ArenaExtend::kNextPowerOfTwo;
  int64_t limit = 0;  // bytes taken from the raw allocator and charged, 0: none
  /// What an error calls the limit, such as "gpu_mem_limit".
  std::string_view limit_name = "memory limit";
};

/// Who holds memory that it can do without.
class IdleMemory {
 public:
  virtual ~IdleMemory() = default;
  /// Frees it. Any thread may call at any time.
  virtual void ReleaseIdle() noexcept = 0;
};

/// Best fit with splitting and coalescing. Lives until its owner and every buffer it gave out are gone, so that tensors may
/// outlive the session that made them.
class Arena final : public Allocator {
 public:
  /// `raw` must be thread-safe for one caller at a time; the arena serializes its calls.
  static std::shared_ptr<Arena> Make(std::shared_ptr<Allocator> raw, const ArenaSettings& settings);

  const MemoryInfo& memory() const noexcept override { return raw_->memory(); }
  bool addressable() const noexcept override { return raw_->addressable(); }
  void* Allocate(size_t bytes) override;
  void Free(void* buffer) noexcept override;
  AllocatorStats stats() const override;
  void Shrink() override;
  void Charge(size_t bytes) override;
  void Refund(size_t bytes) noexcept override;

  /// While it lives, the arena asks `holder` for what lies idle before it refuses an allocation.
  class Registration {
   public:
    Registration(Arena& arena, IdleMemory& holder);
    ~Registration();
    Registration(Registration&& other) noexcept : arena_(std::exchange(other.arena_, nullptr)), holder_(other.holder_) {}
    Registration& operator=(Registration&&) = delete;

   private:
    Arena* arena_;
    IdleMemory* holder_;
  };

 private:
  struct Region;
  struct Chunk;
  struct BySize {
    bool operator()(const Chunk* a, const Chunk* b) const noexcept {
      return a->size != b->size ? a->size < b->size : a->data < b->data;
    }
  };
  using FreeChunks = std::set<Chunk*, BySize>;
  using UsedChunks = std::unordered_map<void*, Chunk*>;
  /// Brings its nodes of both containers along, and is recycled: once it is there, nothing that becomes of it takes memory,
  /// so that nothing fails midway and steady states have no heap traffic.
  struct Chunk {
    std::byte* data;
    size_t size;
    Chunk* previous = nullptr;  // neighbours in the same region
    Chunk* next = nullptr;
    Region* region;
    bool free = false;
    FreeChunks::node_type in_free = {};
    UsedChunks::node_type in_used = {};
  };
  struct Region {
    void* base;
    size_t size;
    Chunk* first;
  };

  Arena(std::shared_ptr<Allocator> raw, const ArenaSettings& settings);
  ~Arena() override;
  Chunk* NewChunk(std::byte* data, size_t size, Region* region);
  void DeleteChunk(Chunk* chunk) noexcept;
  void PutFree(Chunk* chunk) noexcept;
  void TakeFree(Chunk* chunk) noexcept;
  void* AllocateBlock(size_t size);
  void* TakeFrom(Chunk* chunk, size_t bytes);
  Chunk* Extend(size_t bytes);
  void ChargeOnce(size_t bytes);
  [[noreturn]] void FailOverLimit(size_t bytes) const;
  bool Exceeds(size_t bytes) const noexcept;
  bool unused() const noexcept { return used_.empty() && charged_ == 0; }
  void ReleaseFreeRegions() noexcept;
  bool ReleaseIdle();       // false when there is nobody to ask
  void Abandon() noexcept;  // the owner is gone

  const std::shared_ptr<Allocator> raw_;
  const ArenaSettings settings_;
  const bool splittable_;
  mutable ForkMutex mutex_;
  FreeChunks free_;
  UsedChunks used_;
  std::unordered_map<void*, std::unique_ptr<Region>> regions_;
  Chunk* spare_chunks_ = nullptr;  // recycled, linked by next
  size_t next_region_ = size_t{1} << 20;
  AllocatorStats stats_;
  size_t charged_ = 0;  // bytes
  bool abandoned_ = false;
  ForkMutex holders_mutex_;  // held while they are asked, so that none goes meanwhile; taken before mutex_
  std::vector<IdleMemory*> holders_;
  size_t num_chunks_ = 0;  // spare ones included
};

}  // namespace tessera
