#include "base/memory_budget.h"

#include <limits>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/fork.h"

namespace tessera {

MemoryBudget::MemoryBudget(std::string option, int64_t limit, std::shared_ptr<MemoryBudget> parent)
    : option_(std::move(option)), limit_(limit), parent_(std::move(parent)) {}

void MemoryBudget::Charge(size_t bytes) {
  if (parent_ != nullptr) parent_->Charge(bytes);
  const auto asked = static_cast<int64_t>(bytes);
  const int64_t most = limit_ == 0 ? std::numeric_limits<int64_t>::max() : limit();
  int64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (asked < 0 || used > most - asked) [[unlikely]] {
      if (parent_ != nullptr) parent_->Refund(bytes);
      Fail(ErrorCode::kRuntimeException,
           "{} exceeded: {} bytes were asked for, {} of {} bytes are in use; raise it, or use smaller inputs", option_,
           bytes, used, most);
    }
  } while (!used_.compare_exchange_weak(used, used + asked, std::memory_order_relaxed));
}

void MemoryBudget::Refund(size_t bytes) noexcept {
  used_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  if (parent_ != nullptr) parent_->Refund(bytes);
}

namespace {

class BudgetedAllocator final : public Allocator {
 public:
  BudgetedAllocator(std::shared_ptr<Allocator> raw, std::shared_ptr<MemoryBudget> budget, std::function<void()> before)
      : raw_(std::move(raw)), budget_(std::move(budget)), before_(std::move(before)) {}

  const MemoryInfo& memory() const noexcept override { return raw_->memory(); }
  bool addressable() const noexcept override { return raw_->addressable(); }

  void* Allocate(size_t bytes) override {
    if (before_) before_();
    budget_->Charge(bytes);
    void* buffer = nullptr;
    try {
      buffer = raw_->Allocate(bytes);
      const std::lock_guard lock(mutex_);
      sizes_.emplace(buffer, bytes);
    } catch (...) {
      if (buffer != nullptr) raw_->Free(buffer);
      budget_->Refund(bytes);
      throw;
    }
    holds_.fetch_add(1, std::memory_order_relaxed);
    return buffer;
  }

  void Free(void* buffer) noexcept override {
    if (buffer == nullptr) return;
    size_t bytes = 0;
    {
      const std::lock_guard lock(mutex_);
      const auto found = sizes_.find(buffer);
      if (found == sizes_.end()) return;
      bytes = found->second;
      sizes_.erase(found);
    }
    raw_->Free(buffer);
    budget_->Refund(bytes);
    Release(1);
  }

  void Charge(size_t bytes) override {
    if (before_) before_();
    budget_->Charge(bytes);
    holds_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void Refund(size_t bytes) noexcept override {
    budget_->Refund(bytes);
    Release(bytes);
  }

  AllocatorStats stats() const override {
    AllocatorStats stats = raw_->stats();
    if (budget_->limit() > 0) stats.limit = budget_->limit();
    return stats;
  }
  void Shrink() override { raw_->Shrink(); }

  void Release(size_t holds) noexcept {
    if (holds_.fetch_sub(holds, std::memory_order_acq_rel) == holds) delete this;
  }

 private:
  const std::shared_ptr<Allocator> raw_;
  const std::shared_ptr<MemoryBudget> budget_;
  const std::function<void()> before_;
  ForkMutex mutex_;
  std::unordered_map<void*, size_t> sizes_;
  std::atomic<size_t> holds_{1};  // one of its owner, one of each buffer, one of each charged byte
};

}  // namespace

std::shared_ptr<Allocator> MakeBudgetedAllocator(std::shared_ptr<Allocator> raw, std::shared_ptr<MemoryBudget> budget,
                                                 std::function<void()> before) {
  return std::shared_ptr<Allocator>(new BudgetedAllocator(std::move(raw), std::move(budget), std::move(before)),
                                    [](Allocator* allocator) { static_cast<BudgetedAllocator*>(allocator)->Release(1); });
}

std::shared_ptr<Allocator> MakeBudgetedAllocator(Allocator& raw, std::shared_ptr<MemoryBudget> budget,
                                                 std::function<void()> before) {
  return MakeBudgetedAllocator(std::shared_ptr<Allocator>(std::shared_ptr<void>(), &raw), std::move(budget),
                               std::move(before));
}

}  // namespace tessera
