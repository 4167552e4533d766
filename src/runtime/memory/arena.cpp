#include "runtime/memory/arena.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "base/rounding.h"

namespace tessera {
namespace {

constexpr size_t kLargestGrowth = size_t{1} << 30;  // regions stop doubling here

size_t BlockSize(size_t bytes) {
  if (bytes > std::numeric_limits<size_t>::max() / 2) {
    Fail(ErrorCode::kRuntimeException, "out of memory: {} bytes were asked for", bytes);
  }
  return RoundUp(std::max<size_t>(bytes, 1), kHostAlignment);
}

}  // namespace

std::shared_ptr<Arena> Arena::Make(std::shared_ptr<Allocator> raw, const ArenaSettings& settings) {
  return std::shared_ptr<Arena>(new Arena(std::move(raw), settings), [](Arena* arena) { arena->Abandon(); });
}

Arena::Arena(std::shared_ptr<Allocator> raw, const ArenaSettings& settings)
    : raw_(std::move(raw)), settings_(settings), splittable_(raw_->addressable()) {
  if (settings_.limit > 0) stats_.limit = settings_.limit;
}

Arena::~Arena() {
  ReleaseFreeRegions();
  while (spare_chunks_ != nullptr) delete std::exchange(spare_chunks_, spare_chunks_->next);
}

void Arena::Abandon() noexcept {
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    if (!unused()) return;  // the last Free or Refund deletes it
  }
  delete this;
}

/// In neither container.
Arena::Chunk* Arena::NewChunk(std::byte* data, size_t size, Region* region) {
  if (spare_chunks_ == nullptr) {
    auto made = std::make_unique<Chunk>();
    FreeChunks free;
    made->in_free = free.extract(free.insert(made.get()).first);
    UsedChunks used;
    made->in_used = used.extract(used.emplace(nullptr, made.get()).first);
    if (num_chunks_ + 1 > used_.bucket_count()) used_.reserve(2 * num_chunks_ + 1);
    ++num_chunks_;
    spare_chunks_ = made.release();
  }
  Chunk* const chunk = std::exchange(spare_chunks_, spare_chunks_->next);
  chunk->data = data;
  chunk->size = size;
  chunk->previous = chunk->next = nullptr;
  chunk->region = region;
  return chunk;
}

void Arena::DeleteChunk(Chunk* chunk) noexcept { chunk->next = std::exchange(spare_chunks_, chunk); }

void Arena::PutFree(Chunk* chunk) noexcept {
  chunk->free = true;
  free_.insert(std::move(chunk->in_free));
}

void Arena::TakeFree(Chunk* chunk) noexcept {
  chunk->free = false;
  chunk->in_free = free_.extract(chunk);
}

Arena::Registration::Registration(Arena& arena, IdleMemory& holder) : arena_(&arena), holder_(&holder) {
  const std::lock_guard lock(arena.holders_mutex_);
  arena.holders_.push_back(&holder);
}

Arena::Registration::~Registration() {
  if (arena_ == nullptr) return;
  const std::lock_guard lock(arena_->holders_mutex_);
  std::erase(arena_->holders_, holder_);
}

bool Arena::ReleaseIdle() {
  const std::lock_guard lock(holders_mutex_);
  for (IdleMemory* holder : holders_) holder->ReleaseIdle();
  return !holders_.empty();
}

void* Arena::Allocate(size_t bytes) {
  const size_t size = BlockSize(bytes);
  try {
    return AllocateBlock(size);
  } catch (const Error&) {
    if (!ReleaseIdle()) throw;
  }
  return AllocateBlock(size);
}

void* Arena::AllocateBlock(size_t size) {
  const std::lock_guard lock(mutex_);
  Chunk probe{.data = nullptr, .size = size, .region = nullptr};
  auto fit = free_.lower_bound(&probe);
  // Whole handles cannot be cut: taking one more than twice too large would waste it.
  if (fit != free_.end() && !splittable_ && (*fit)->size / 2 > size) fit = free_.end();
  return TakeFrom(fit != free_.end() ? *fit : Extend(size), size);
}

/// `chunk` is a free one.
void* Arena::TakeFrom(Chunk* chunk, size_t bytes) {
  const bool split = splittable_ && chunk->size - bytes >= kHostAlignment;
  Chunk* const rest = split ? NewChunk(chunk->data + bytes, chunk->size - bytes, chunk->region) : nullptr;
  TakeFree(chunk);
  if (split) {
    rest->previous = chunk;
    rest->next = chunk->next;
    if (rest->next != nullptr) rest->next->previous = rest;
    chunk->next = rest;
    chunk->size = bytes;
    PutFree(rest);
  }
  chunk->in_used.key() = chunk->data;
  used_.insert(std::move(chunk->in_used));
  ++stats_.allocations;
  stats_.bytes_in_use += static_cast<int64_t>(chunk->size);
  stats_.peak_bytes_in_use = std::max(stats_.peak_bytes_in_use, stats_.bytes_in_use);
  return chunk->data;
}

Arena::Chunk* Arena::Extend(size_t bytes) {
  // Regions that lie idle are too small for this: what grows out of them, as a first run's buffers into a planned block,
  // would hold their memory for nothing. Handles that cannot be cut are kept for requests of their own size.
  if (splittable_) ReleaseFreeRegions();
  size_t size = bytes;
  if (settings_.extend == ArenaExtend::kNextPowerOfTwo && splittable_) {
    size = std::max(next_region_, bytes > kLargestGrowth ? bytes : std::bit_ceil(bytes));
  }
  if (Exceeds(size)) size = bytes;
  if (Exceeds(size)) ReleaseFreeRegions();
  if (Exceeds(size)) FailOverLimit(bytes);
  void* base = nullptr;
  try {
    base = raw_->Allocate(size);
  } catch (const Error&) {
    ReleaseFreeRegions();
    size = bytes;
    base = raw_->Allocate(size);  // throws what the device says
  }
  Chunk* chunk = nullptr;
  try {
    auto region = std::make_unique<Region>(Region{base, size, nullptr});
    region->first = chunk = NewChunk(static_cast<std::byte*>(base), size, region.get());
    regions_.emplace(base, std::move(region));
  } catch (...) {
    if (chunk != nullptr) DeleteChunk(chunk);
    raw_->Free(base);
    throw;
  }
  PutFree(chunk);
  stats_.bytes_reserved += static_cast<int64_t>(size);
  next_region_ = std::min(std::max(next_region_, std::bit_ceil(size)) * 2, kLargestGrowth);
  return chunk;
}

bool Arena::Exceeds(size_t bytes) const noexcept {
  return settings_.limit > 0 &&
         static_cast<uint64_t>(stats_.bytes_reserved) + charged_ + bytes > static_cast<uint64_t>(settings_.limit);
}

void Arena::FailOverLimit(size_t bytes) const {
  Fail(ErrorCode::kRuntimeException,
       "{} exceeded: {} bytes of {} memory were asked for, {} of {} bytes are in use; raise the limit, or use smaller "
       "inputs",
       settings_.limit_name, bytes, memory().name, stats_.bytes_in_use, settings_.limit);
}

void Arena::Charge(size_t bytes) {
  try {
    return ChargeOnce(bytes);
  } catch (const Error&) {
    if (!ReleaseIdle()) throw;
  }
  ChargeOnce(bytes);
}

void Arena::ChargeOnce(size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (Exceeds(bytes)) ReleaseFreeRegions();
  if (Exceeds(bytes)) FailOverLimit(bytes);
  try {
    raw_->Charge(bytes);
  } catch (const Error&) {
    ReleaseFreeRegions();
    raw_->Charge(bytes);
  }
  charged_ += bytes;
  stats_.bytes_in_use += static_cast<int64_t>(bytes);
  stats_.peak_bytes_in_use = std::max(stats_.peak_bytes_in_use, stats_.bytes_in_use);
}

void Arena::Refund(size_t bytes) noexcept {
  std::unique_lock lock(mutex_);
  raw_->Refund(bytes);
  charged_ -= bytes;
  stats_.bytes_in_use -= static_cast<int64_t>(bytes);
  if (abandoned_ && unused()) {
    lock.unlock();
    delete this;
  }
}

void Arena::Free(void* buffer) noexcept {
  if (buffer == nullptr) return;
  std::unique_lock lock(mutex_);
  const auto found = used_.find(buffer);
  if (found == used_.end()) return;
  Chunk* chunk = found->second;
  chunk->in_used = used_.extract(found);
  stats_.bytes_in_use -= static_cast<int64_t>(chunk->size);
  if (Chunk* next = chunk->next; next != nullptr && next->free) {
    TakeFree(next);
    chunk->size += next->size;
    chunk->next = next->next;
    if (chunk->next != nullptr) chunk->next->previous = chunk;
    DeleteChunk(next);
  }
  if (Chunk* previous = chunk->previous; previous != nullptr && previous->free) {
    TakeFree(previous);
    previous->size += chunk->size;
    previous->next = chunk->next;
    if (previous->next != nullptr) previous->next->previous = previous;
    DeleteChunk(chunk);
    chunk = previous;
  }
  PutFree(chunk);
  if (abandoned_ && unused()) {
    lock.unlock();
    delete this;
  }
}

void Arena::ReleaseFreeRegions() noexcept {
  for (auto it = regions_.begin(); it != regions_.end();) {
    Region& region = *it->second;
    if (region.first->free && region.first->next == nullptr) {
      TakeFree(region.first);
      DeleteChunk(region.first);
      raw_->Free(region.base);
      stats_.bytes_reserved -= static_cast<int64_t>(region.size);
      it = regions_.erase(it);
    } else {
      ++it;
    }
  }
}

void Arena::Shrink() {
  const std::lock_guard lock(mutex_);
  ReleaseFreeRegions();
  next_region_ = size_t{1} << 20;
}

AllocatorStats Arena::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace tessera
