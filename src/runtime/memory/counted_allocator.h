#pragma once

#include <atomic>
#include <memory>

#include "tessera/memory.h"

namespace tessera {

/// A raw allocator as it is, for sessions without arenas. Like an Arena it lives until its owner and every buffer it gave
/// out are gone, so that tensors may outlive the session that made them.
class CountedAllocator final : public Allocator {
 public:
  static std::shared_ptr<Allocator> Make(std::shared_ptr<Allocator> raw) {
    return std::shared_ptr<Allocator>(new CountedAllocator(std::move(raw)),
                                      [](Allocator* counted) { static_cast<CountedAllocator*>(counted)->Release(); });
  }

  const MemoryInfo& memory() const noexcept override { return raw_->memory(); }
  bool addressable() const noexcept override { return raw_->addressable(); }
  void* Allocate(size_t bytes) override {
    void* buffer = raw_->Allocate(bytes);
    users_.fetch_add(1, std::memory_order_relaxed);
    return buffer;
  }
  void Free(void* buffer) noexcept override {
    if (buffer == nullptr) return;
    raw_->Free(buffer);
    Release();
  }
  AllocatorStats stats() const override { return raw_->stats(); }
  void Shrink() override { raw_->Shrink(); }

 private:
  explicit CountedAllocator(std::shared_ptr<Allocator> raw) : raw_(std::move(raw)) {}
  void Release() noexcept {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  const std::shared_ptr<Allocator> raw_;
  std::atomic<size_t> users_{1};  // its owner and its buffers
};

}  // namespace tessera
